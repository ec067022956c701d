// What keeps the native side of a JVM busy: classes made at run time, threads, regexes, zlib, the just-in-time compiler.
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;

public class Parcels {
  interface Priced { int price(int weight); }

  static String letter(int i) { return "parcel " + (i * 7919 % 100003) + " weighs " + (i * 31 % 4096) + " g"; }

  public static void main(String[] arguments) throws Exception {
    Map<String, List<Integer>> byEnd = new TreeMap<>();
    Pattern pattern = Pattern.compile("(\\d+) weighs (\\d+)");
    for (int i = 0; i < 20000; ++i) {
      var found = pattern.matcher(letter(i));
      if (found.find()) byEnd.computeIfAbsent(found.group(1).substring(0, 1), key -> new ArrayList<>()).add(Integer.parseInt(found.group(2)));
    }
    List<Priced> proxies = new ArrayList<>();
    for (int i = 0; i < 50; ++i) {
      int rate = i;
      proxies.add((Priced) Proxy.newProxyInstance(Parcels.class.getClassLoader(), new Class<?>[] {Priced.class}, (p, m, a) -> rate * (int) a[0]));
    }
    Function<Integer, Integer> sum = weight -> proxies.stream().mapToInt(each -> each.price(weight)).sum();
    List<Thread> threads = new ArrayList<>();
    int[] totals = new int[8];
    for (int t = 0; t < totals.length; ++t) {
      int number = t;
      threads.add(new Thread(() -> totals[number] = IntStream.range(0, 2000).map(i -> sum.apply(i % 7)).sum()));
    }
    for (Thread thread : threads) { thread.start(); thread.join(); }
    int packed = 0;
    for (int i = 0; i < 200; ++i) {
      var out = new ByteArrayOutputStream();
      try (var deflater = new DeflaterOutputStream(out)) { for (int j = 0; j < 50; ++j) deflater.write(letter(i * j).getBytes()); }
      packed += new InflaterInputStream(new java.io.ByteArrayInputStream(out.toByteArray())).readAllBytes().length;
    }
    System.out.println(byEnd.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue().size()).collect(Collectors.joining(" ")));
    System.out.println(IntStream.of(totals).sum() + " " + packed);
  }
}
