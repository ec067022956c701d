"""The vcpkg port, without vcpkg: its script runs with stand-ins for vcpkg's functions, and a consumer builds with what it installs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PORT = REPO / "packaging/vcpkg/ports/tare"
CONSUMER = REPO / "packaging/conan/test_package"
# Of a triplet of this machine, with one build type. vcpkg moves CMake's package to share/; here it stays where CMake finds it, too.
STAND_INS = """
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${ARG_SOURCE_PATH} -B ${BUILD} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${ARG_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target install COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(ARG "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${ARG_CONFIG_PATH}/${ARG_PACKAGE_NAME}-config.cmake)
    message(FATAL_ERROR "${ARG_CONFIG_PATH} has no package of CMake's")
  endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(ARG "" "" "FILE_LIST" ${ARGN})
  file(COPY ${ARG_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
endfunction()
"""

pytestmark = pytest.mark.nightly


def test_manifest_has_the_version_and_the_parts() -> None:
    manifest = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    header = (REPO / "include/tare/version.h").read_text(encoding="utf-8")
    assert manifest["version"] == ".".join(re.findall(r"TARE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    assert set(manifest["default-features"]) == set(manifest["features"]) == {"gc", "variant"}


@pytest.mark.parametrize("features", ["core", "core;gc;variant"], ids=["core", "all"])
def test_port_installs_what_a_consumer_needs(tmp_path: Path, features: str) -> None:
    driver = tmp_path / "driver.cmake"
    driver.write_text(
        f'cmake_minimum_required(VERSION 3.22)\n{STAND_INS}\nset(CMAKE_CURRENT_LIST_DIR "{PORT}")\n{(PORT / "portfile.cmake").read_text()}'
    )
    prefix = tmp_path / "packages"
    script = [f"-DBUILD={tmp_path / 'build'}", f"-DCURRENT_PACKAGES_DIR={prefix}", "-DPORT=tare"]
    subprocess.run(["cmake", *script, f"-DFEATURES={features}", "-P", driver], check=True)
    headers = {path.name for path in (prefix / "include/tare").iterdir()}
    assert {"gc", "variant"} <= headers if "gc" in features else headers.isdisjoint({"gc", "variant"})
    assert {path.name for path in (prefix / "share/tare").iterdir()} >= {"LICENSE", "usage"}
    consumer = ["cmake", "-G", "Ninja", "-S", CONSUMER, "-B", tmp_path / "consumer", f"-DCMAKE_PREFIX_PATH={prefix}"]
    subprocess.run(consumer, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "consumer"], check=True, capture_output=True)
    printed = subprocess.run([tmp_path / "consumer/consumer"], check=True, capture_output=True, text=True).stdout
    assert printed == "tare 0.1.0: an atom\n"
