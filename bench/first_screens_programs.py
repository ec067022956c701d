"""The programs of docs/first-screens.md: packages of Debian 12, with inputs that any such machine has or makes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

APT = "/usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*bookworm_main_binary-amd64_Packages*"


class Program(NamedTuple):
    name: str
    novelty: str  # new: neither in docs/field-notes.md nor in docs/trophies; unseen: no lens was changed for it, either
    command: list[str]  # runs in the folder of inputs
    version: list[str]
    description: str  # of its input


def shell(folder: Path, command: str) -> None:
    subprocess.run(["bash", "-c", command], cwd=folder, check=True)


def package_list(folder: Path) -> None:
    for name, size in (("packages", 3_000_000), ("text", 200_000)):
        shell(folder, f"{APT} | head -c {size} > {name}")
    records = (folder / "packages").read_text(errors="replace").split("\n\n")[:-1]
    rows = [dict(line.split(": ", 1) for line in each.split("\n") if ": " in line[:40]) for each in records]
    names = ("Package", "Version", "Section", "Maintainer", "Installed-Size")
    lines = ["\t".join(row.get(name, "").replace("\t", " ").replace('"', "'") for name in names) for row in rows]
    (folder / "packages.tsv").write_text("\n".join(lines) + "\n")


def grammar(folder: Path) -> None:
    rules = ["%token NUM ID", "%%", "top: s0;"]
    for i in range(150):
        rules.append(f"s{i}: 'a' e{i} ';' | ID '=' s{(i + 1) % 150} | '{{' s{(i + 7) % 150} '}}' ;")
        rules.append(f"e{i}: e{i} '+' NUM | NUM | '(' e{(i + 3) % 150} ')' ;")
    (folder / "grammar.y").write_text("\n".join(rules) + "\n%%\n")
    words = "\n".join(f'"keyword{i * i}"  return {i};' for i in range(300))
    (folder / "words.l").write_text(f"%%\n{words}\n[a-z][a-z0-9_]*  return 1;\n[ \\n]+ ;\n%%\n")


def graph(folder: Path) -> None:
    edges = "".join(f"n{i} -> n{i * 7 % 160 + 1}; n{i} -> n{(i * 31 + 11) % 160};\n" for i in range(100))
    (folder / "graph.dot").write_text("digraph g {\n" + edges + "}\n")
    points = "".join(f"{i} {i * i % 997}\n" for i in range(20_000))
    (folder / "points.dat").write_text(points)
    (folder / "plot.gp").write_text("set terminal svg\nset output '/dev/null'\nplot 'points.dat' with lines\n")


def scripts(folder: Path) -> None:
    (folder / "rows.sql").write_text(
        ".mode tabs\ncreate table p(name, version, section, maintainer, size);\n.import packages.tsv p\n"
        "create index s on p(section);\nselect section, count(*), max(size) from p group by section order by 2 desc limit 5;\n"
        "select count(*) from p a join p b on a.section = b.section and a.maintainer = b.maintainer;\n"
    )
    (folder / "loop.m4").write_text(
        "define(`forloop',`ifelse(eval($2<=$3),1,`$4`'define(`$1',incr($1))forloop(`$1',incr($2),$3,`$4')')')dnl\n"
        "define(`i',1)forloop(`i',1,4000,`define(`word'i,`value of i')')dnl\n"
    )
    (folder / "pi.bc").write_text("scale=600\n4*a(1)\nfor(i=0;i<3000;i++) x[i]=i^3\nx[2999]\n")
    (folder / "fields.tcl").write_text(
        "set f [open packages]\nwhile {[gets $f line] >= 0} {\n"
        " if {[regexp {^([A-Za-z-]+): (.*)} $line - key value]} { lappend fields($key) $value }\n}\n"
        "foreach key [array names fields] { puts \"$key [llength $fields($key)]\" }\n"
    )  # fmt: skip
    (folder / "fields.pl").write_text(
        "my %f; open my $in, '<', 'packages'; while (<$in>) { push @{$f{$1}}, $2 if /^([A-Za-z-]+): (.*)/ }\n"
        'print "$_ ", scalar @{$f{$_}}, "\\n" for sort keys %f;\n'
    )
    (folder / "fields.py").write_text(
        "import collections, re\nfields = collections.defaultdict(list)\n"
        "for line in open('packages', errors='replace'):\n"
        "    if found := re.match('([A-Za-z-]+): (.*)', line):\n"
        "        fields[found[1]].append(found[2])\n"
        "print(len(fields))\n"
    )
    (folder / "sizes.awk").write_text(
        "BEGIN { FS = \": \" } /^Package/ { name = $2 } /^Section/ { section[name] = $2 } /^Installed-Size/ { size[name] = $2 }\n"
        "END { for (name in size) sum[section[name]] += size[name]; for (each in sum) print each, sum[each] }\n"
    )  # fmt: skip
    (folder / "identity.xsl").write_text(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="@*|node()">'
        '<xsl:copy><xsl:apply-templates select="@*|node()"/></xsl:copy></xsl:template></xsl:stylesheet>\n'
    )
    code = "".join(
        f"label{i}: mov rax, [rbx + {i}]\n add rax, label{i * 7 % 5000}\n jmp label{i * 31 % 5000}\n"
        for i in range(5000)
    )
    (folder / "code.asm").write_text(f"bits 64\ndefault rel\n{code}")
    rules = "".join(f"target{i}: target{i * 7 % 3000 + 3000}\n\t@true $(NAME) {i}\n" for i in range(3000))
    (folder / "Makefile.many").write_text(
        f"NAME = x\nall: target1\n{rules}" + "".join(f"target{i + 3000}:\n" for i in range(3000))
    )
    built = "".join(f"build o{i}: cc s{i % 50}\n flags = -O2 -I include/part{i % 20}\n" for i in range(6000))
    (folder / "build.ninja").write_text(
        f"rule cc\n command = true $flags $in\n{built}" + "".join(f"build s{i}: phony\n" for i in range(50))
    )


def documents(folder: Path) -> None:
    shell(folder, "zcat /usr/share/man/man1/bash.1.gz > bash.1")
    shell(
        folder,
        "groff -man -Tps bash.1 2>/dev/null > bash.ps; gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=bash.pdf bash.ps",
    )
    shell(folder, "mandoc -T html bash.1 > bash.html")
    shell(folder, "cat /usr/include/*.h /usr/include/x86_64-linux-gnu/bits/*.h > headers.h")
    shell(folder, "git init -q repository && cd repository && cp -r /usr/include/linux . && git add . && "
                  "git -c user.name=x -c user.email=x@x commit -qm first")  # fmt: skip
    shell(folder, "{ echo 'msgid \"\"'; echo 'msgstr \"Content-Type: text/plain; charset=UTF-8\\n\"'; "
                  "for i in $(seq 6000); do echo; echo \"#: file$((i % 90)).c:$i\"; echo \"msgid \\\"message $i\\\"\"; "
                  "echo \"msgstr \\\"text $((i % 700))\\\"\"; done; } > texts.po")  # fmt: skip


def unseen_inputs(folder: Path) -> None:
    words = "\n".join(f'    "keyword{i * i}" {{ return {i}; }}' for i in range(300))
    (folder / "words.re").write_text(
        "int scan(const char *YYCURSOR) {\n    const char *YYMARKER;\n    /*!re2c\n    re2c:define:YYCTYPE = char;\n"
        f"    re2c:yyfill:enable = 0;\n{words}\n    [a-z][a-z0-9_]* {{ return 1; }}\n    * {{ return -1; }}\n    */\n}}\n"
    )
    (folder / "fields.lua").write_text(
        "local fields = {}\nfor line in io.lines('packages') do\n"
        "  local key, value = line:match('^([A-Za-z-]+): (.*)')\n"
        "  if key then fields[key] = fields[key] or {}; table.insert(fields[key], value) end\nend\n"
        "for key, values in pairs(fields) do print(key, #values) end\n"
    )
    (folder / "Doxyfile").write_text(
        "INPUT = headers.h\nOUTPUT_DIRECTORY = doxygen\nQUIET = YES\nWARNINGS = NO\nEXTRACT_ALL = YES\nGENERATE_LATEX = NO\n"
    )
    shell(folder, "head -n 2000 headers.h > short.h")
    (folder / "empty").mkdir()
    shell(folder, "dot -Tsvg -o graph.svg graph.dot")


PREPARE: list[Callable[[Path], None]] = [package_list, grammar, graph, scripts, documents, unseen_inputs]


# Of the unseen programs, re2c renames its output: run by root, it would replace /dev/null by a file.
def programs() -> list[Program]:
    def of(name: str, novelty: str, command: str, description: str, version: str = "--version") -> Program:
        words = command.split(" ")
        return Program(name, novelty, words, [words[0], *version.split()], description)

    return [
        of("gawk", "new", "gawk -f sizes.awk packages", "sums over 3 MB of Debian's package list"),
        of("mawk", "new", "mawk -f sizes.awk packages", "the same", "-W version"),
        of("bison", "new", "bison -o /dev/null grammar.y", "a grammar of 300 rules"),
        of("flex", "new", "flex -o /dev/null words.l", "a scanner of 300 words"),
        of("m4", "new", "m4 -L 100000 loop.m4", "4,000 macros"),
        of("xmllint", "new", "xmllint --noout /usr/share/mime/packages/freedesktop.org.xml", "2 MB of XML"),
        of("xsltproc", "new", "xsltproc -o /dev/null identity.xsl /usr/share/mime/packages/freedesktop.org.xml", "an identity transform of it"),
        of("mandoc", "new", "mandoc -T html bash.1", "the manual of bash", "-T help"),
        of("troff", "new", "troff -man -Tps bash.1", "the manual of bash"),
        of("dot", "new", "dot -Tsvg -o /dev/null graph.dot", "200 edges", "-V"),
        of("gnuplot", "new", "gnuplot plot.gp", "20,000 points"),
        of("pdftotext", "new", "pdftotext bash.pdf /dev/null", "the manual of bash as PDF", "-v"),
        of("gs", "new", "gs -q -dBATCH -dNOPAUSE -sDEVICE=txtwrite -sOutputFile=/dev/null bash.pdf", "the same"),
        of("openssl", "new", "openssl storeutl -noout -certs /etc/ssl/certs/ca-certificates.crt", "the system's certificates", "version"),
        of("tar", "new", "tar -cf /dev/null /usr/include", "an archive of /usr/include"),
        of("zstd", "new", "zstd -q -f -o /dev/null packages", "3 MB of text"),
        of("tidy", "new", "tidy -q -o /dev/null bash.html", "300 KB of HTML"),
        of("ctags", "new", "ctags -f /dev/null -R /usr/include/linux", "headers of Linux"),
        of("tclsh", "new", "tclsh fields.tcl", "fields of the package list in lists", ""),
        of("perl", "new", "perl fields.pl", "the same"),
        of("nasm", "new", "nasm -f elf64 -o /dev/null code.asm", "15,000 instructions"),
        of("ninja", "new", "ninja -n -f build.ninja", "6,000 edges"),
        of("swig", "new", "swig -python -o /dev/null -module m headers.h", "C headers", "-version"),
        of("msgfmt", "new", "msgfmt -o /dev/null texts.po", "6,000 messages"),
        of("jq", "", "jq -R -s -c split(\"\\n\")|map(split(\"\\t\"))|length packages.tsv", "rows of text"),
        of("sqlite3", "", "sqlite3 :memory: -init rows.sql .quit", "an import, an index, a join"),
        of("git", "", "git -C repository log --stat --format=%H", "a commit of 700 headers"),
        of("make", "", "make -n -f Makefile.many", "6,000 targets"),
        of("hunspell", "", "hunspell -d en_US -l text", "200 KB of text"),
        of("python3", "", "python3 fields.py", "fields of the package list in lists"),
        of("cppcheck", "unseen", "cppcheck -q --enable=all --language=c short.h", "2,000 lines of C headers"),
        of("cscope", "unseen", "cscope -b -R -s /usr/include/linux -f cscope.out", "headers of Linux", "-V"),
        of("doxygen", "unseen", "doxygen Doxyfile", "C headers"),
        of("w3m", "unseen", "w3m -dump bash.html", "300 KB of HTML", "-version"),
        of("lynx", "unseen", "lynx -dump bash.html", "the same"),
        of("aspell", "unseen", "aspell -l en dump master", "its dictionary"),
        of("qpdf", "unseen", "qpdf --object-streams=generate bash.pdf out", "the manual of bash as PDF"),
        of("rsync", "unseen", "rsync -an /usr/include/ empty/", "names of /usr/include"),
        of("mutool", "unseen", "mutool draw -q -F text -o out bash.pdf", "the manual of bash as PDF", "-v"),
        of("astyle", "unseen", "astyle -q --style=gnu --stdin=headers.h --stdout=out", "C headers"),
        of("re2c", "unseen", "re2c -o out words.re", "a scanner of 300 words"),
        of("rsvg-convert", "unseen", "rsvg-convert -o out graph.svg", "the graph of dot as SVG"),
        of("objdump", "unseen", "objdump -d -C /usr/bin/bash", "the code of bash"),
        of("ld", "unseen", "ld -r -o out --whole-archive /usr/lib/x86_64-linux-gnu/libc.a", "all objects of libc.a"),
        of("byacc", "unseen", "byacc -o out grammar.y", "a grammar of 300 rules", "-V"),
        of("lua", "unseen", "lua5.4 fields.lua", "fields of the package list in tables", "-v"),
    ]  # fmt: skip
