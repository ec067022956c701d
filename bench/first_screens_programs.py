"""The programs of docs/first-screens.md: packages of Debian 12, with inputs that any such machine has or makes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

APT = "/usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*bookworm_main_binary-amd64_Packages*"


class Program(NamedTuple):
    name: str
    is_new: bool  # neither in docs/field-notes.md nor in docs/trophies
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


PREPARE: list[Callable[[Path], None]] = [package_list, grammar, graph, scripts, documents]


def programs() -> list[Program]:
    def of(name: str, is_new: bool, command: str, description: str, version: str = "--version") -> Program:
        words = command.split(" ")
        return Program(name, is_new, words, [words[0], *version.split()], description)

    return [
        of("gawk", True, "gawk -f sizes.awk packages", "sums over 3 MB of Debian's package list"),
        of("mawk", True, "mawk -f sizes.awk packages", "the same", "-W version"),
        of("bison", True, "bison -o /dev/null grammar.y", "a grammar of 300 rules"),
        of("flex", True, "flex -o /dev/null words.l", "a scanner of 300 words"),
        of("m4", True, "m4 -L 100000 loop.m4", "4,000 macros"),
        of("xmllint", True, "xmllint --noout /usr/share/mime/packages/freedesktop.org.xml", "2 MB of XML"),
        of("xsltproc", True, "xsltproc -o /dev/null identity.xsl /usr/share/mime/packages/freedesktop.org.xml", "an identity transform of it"),
        of("mandoc", True, "mandoc -T html bash.1", "the manual of bash", "-T help"),
        of("troff", True, "troff -man -Tps bash.1", "the manual of bash"),
        of("dot", True, "dot -Tsvg -o /dev/null graph.dot", "200 edges", "-V"),
        of("gnuplot", True, "gnuplot plot.gp", "20,000 points"),
        of("pdftotext", True, "pdftotext bash.pdf /dev/null", "the manual of bash as PDF", "-v"),
        of("gs", True, "gs -q -dBATCH -dNOPAUSE -sDEVICE=txtwrite -sOutputFile=/dev/null bash.pdf", "the same"),
        of("openssl", True, "openssl storeutl -noout -certs /etc/ssl/certs/ca-certificates.crt", "the system's certificates", "version"),
        of("tar", True, "tar -cf /dev/null /usr/include", "an archive of /usr/include"),
        of("zstd", True, "zstd -q -f -o /dev/null packages", "3 MB of text"),
        of("tidy", True, "tidy -q -o /dev/null bash.html", "300 KB of HTML"),
        of("ctags", True, "ctags -f /dev/null -R /usr/include/linux", "headers of Linux"),
        of("tclsh", True, "tclsh fields.tcl", "fields of the package list in lists", ""),
        of("perl", True, "perl fields.pl", "the same"),
        of("nasm", True, "nasm -f elf64 -o /dev/null code.asm", "15,000 instructions"),
        of("ninja", True, "ninja -n -f build.ninja", "6,000 edges"),
        of("swig", True, "swig -python -o /dev/null -module m headers.h", "C headers", "-version"),
        of("msgfmt", True, "msgfmt -o /dev/null texts.po", "6,000 messages"),
        of("jq", False, "jq -R -s -c split(\"\\n\")|map(split(\"\\t\"))|length packages.tsv", "rows of text"),
        of("sqlite3", False, "sqlite3 :memory: -init rows.sql .quit", "an import, an index, a join"),
        of("git", False, "git -C repository log --stat --format=%H", "a commit of 700 headers"),
        of("make", False, "make -n -f Makefile.many", "6,000 targets"),
        of("hunspell", False, "hunspell -d en_US -l text", "200 KB of text"),
        of("python3", False, "python3 fields.py", "fields of the package list in lists"),
    ]  # fmt: skip
