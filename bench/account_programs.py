"""Twelve programs whose memory is mostly not malloc's: the rows of docs/account.md."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import field_programs
from field_programs import Program
from harness.measure import ROOT

# As a user who isn't root: PostgreSQL refuses root.
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
_VENV = ROOT / "build/account-venv"

_NODE = """
const kept = [];
for (let round = 0; round < 40; round++)
  for (let i = 0; i < 20000; i++) kept.push({id: i, label: 'parcel ' + i, weights: [i, i + 1, i + 2]});
console.log(kept.length, JSON.stringify(kept).length);
const until = Date.now() + 1000; while (Date.now() < until);
"""
_PHP = """
$kept = [];
for ($i = 0; $i < 600000; $i++) $kept[] = ['id' => $i, 'label' => "parcel $i"];
echo count($kept), strlen(json_encode($kept)), "\\n";
"""
_PANDAS = """
import numpy, pandas
frame = pandas.DataFrame({"town": numpy.arange(1_500_000) % 1009, "weight": numpy.arange(1_500_000) * 1.5})
frame["label"] = frame["town"].astype(str)
print(frame.groupby("label")["weight"].agg(["sum", "mean"]).sort_values("sum").head())
"""
_RUST = """
use std::collections::HashMap;
fn main() {
    let mut kept: HashMap<u64, String> = HashMap::new();
    for round in 0..4u64 {
        for i in 0..300_000u64 {
            kept.insert(i * 31 % 500_000, format!("parcel {} of round {}", i, round));
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    println!("{}", kept.values().map(|label| label.len()).sum::<usize>());
}
"""
_PAGE = (
    "<table>"
    + "".join(f"<tr><td>parcel {i}<td style='color:red'>{i * 31 % 4096} g" for i in range(20_000))
    + "</table>"
)
_NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log stderr; events {}
http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server { listen 127.0.0.1:18081; root .; gzip on; gzip_types *; } }
"""


def venv(folder: Path) -> None:
    if not (_VENV / "bin/python").exists():
        subprocess.run(["python3", "-m", "venv", _VENV], check=True)
    subprocess.run([_VENV / "bin/pip", "install", "--quiet", "numpy", "pandas"], check=True)
    (folder / "table.py").write_text(_PANDAS)


def rust_service(folder: Path) -> None:
    (folder / "service.rs").write_text(_RUST)
    archive = "/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a"
    words = [archive, "-lstdc++", "-lm", "-ldl"]
    arguments = [word for one in words for word in ("-C", f"link-arg={one}")]
    subprocess.run(["rustc", "-O", "service.rs", *arguments, "-o", "service"], cwd=folder, check=True)


def page(folder: Path) -> None:
    (folder / "page.html").write_text(_PAGE)


def nginx_site(folder: Path) -> None:
    page(folder)
    (folder / "nginx.conf").write_text(_NGINX)


def connect(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nobody listens at port {port}")


def nginx_client(_folder: Path) -> bytes:
    connect(18081)
    size = 0
    for _ in range(300):
        with urllib.request.urlopen("http://127.0.0.1:18081/page.html") as answer:
            size = len(answer.read())
    os.kill(int((field_programs.INPUTS / "nginx/nginx.pid").read_text()), signal.SIGQUIT)
    return str(size).encode()


def postgres_binary(name: str) -> str:
    return shutil.which(name) or next(
        (str(file) for file in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), name
    )


def database(folder: Path) -> None:
    shutil.rmtree("/tmp/tare-account-pg", ignore_errors=True)
    Path("/tmp/tare-account-pg").mkdir()
    shutil.chown("/tmp/tare-account-pg", "nobody", "nogroup")
    subprocess.run(
        [*NOBODY, postgres_binary("initdb"), "-D", "/tmp/tare-account-pg/data", "-A", "trust"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd="/",
    )


def pgbench(_folder: Path) -> bytes:
    connect(18082)
    common = ["-h", "127.0.0.1", "-p", "18082", "-U", "nobody", "postgres"]
    subprocess.run([postgres_binary("pgbench"), "-i", "-q", "-s", "5", *common], check=True, capture_output=True)
    done = subprocess.run([postgres_binary("pgbench"), "-c", "2", "-T", "5", *common], check=True, capture_output=True)
    os.kill(int(Path("/tmp/tare-account-pg/data/postmaster.pid").read_text().split()[0]), signal.SIGINT)
    return done.stdout


def document(folder: Path) -> None:
    (folder / "parcels.txt").write_text("\n".join(f"Parcel {i} weighs {i * 31 % 4096} g." for i in range(4000)))


def programs() -> list[Program]:
    shared = {program.name: program for program in field_programs.programs()}
    return [
        Program("python", "interpreter", "JSON written and read back, dicts, sorting", ["python3.11", str(field_programs.WORKLOADS / "json_dicts.py"), "1"]),
        Program("pandas", "numpy and pandas", "1.5 million rows grouped", ["env", str(_VENV / "bin/python"), "@/table.py"], prepare=venv),
        shared["redis"],
        Program("rust-jemalloc", "Rust, jemalloc linked in", "a hash map of 1.2 million strings", ["env", "@/service"], prepare=rust_service),
        Program("node", "interpreter", "800,000 objects, JSON", ["node", "-e", _NODE]),
        shared["java"],
        Program("postgres", "database under pgbench", "scale 5, 2 clients, 5 s", [postgres_binary("postgres"), "-D", "/tmp/tare-account-pg/data", "-p", "18082", "-k", "/tmp/tare-account-pg"], prepare=database, client=pgbench),
        Program("nginx", "web server", "a page of 1 MB, compressed 300 times", ["nginx", "-p", "@/", "-c", "@/nginx.conf"], prepare=nginx_site, client=nginx_client),
        shared["git"],
        Program("chromium", "browser, headless", "a table of 20,000 rows", ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "file://@/page.html"], prepare=page),
        Program("php", "interpreter", "600,000 arrays, JSON", ["php", "-d", "memory_limit=-1", "-r", _PHP]),
        Program("libreoffice", "office suite", "a text of 4,000 lines converted to PDF", ["soffice", "--headless", "--convert-to", "pdf", "@/parcels.txt"], prepare=document),
    ]  # fmt: skip
