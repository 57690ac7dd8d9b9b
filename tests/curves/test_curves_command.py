import subprocess
import sys
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner
from PIL import Image

from slotd.cli.curves import WIDTH
from slotd.cli.main import slotd
from slotd.explain.curves import figures
from slotd.explain.picture import description, draw
from slotd.policy.settings import ENVIRONMENT_NAMES, PolicySettings
from tests.paths import PROJECT

PICTURE = PROJECT / "slotd" / "policy" / "curves.png"


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ENVIRONMENT_NAMES.values():
        monkeypatch.delenv(name, raising=False)
    nothing = tmp_path / "nothing.toml"
    nothing.touch()
    monkeypatch.setenv("SLOTD_CONFIG", str(nothing))


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(slotd, ["curves", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def described(picture: Path | BytesIO) -> str:
    with Image.open(picture) as image:
        image.load()
        text: str = image.info["Description"]
        return text


def picture(settings: PolicySettings) -> bytes:
    file = BytesIO()
    draw(figures(settings), file)
    return file.getvalue()


def test_the_table_of_the_defaults() -> None:
    assert (
        printed()
        == """\
ttl_max_s           120      default
expired_keep_score  0.01     default
idle_value_zero_s   1800     default
park_value_ratio    2        default
park_min_value      0.01     default
park_kept_share     0.98     default
sibling_share       0.98     default

 tokens     ttl     0 s    10 s   1 min   5 min  10 min  20 min  25 min  30 min goes 1st  no park
    500   0.1 s 0.0016*  0.0004  0.0004  0.0004  0.0004  0.0002  0.0001       0    0.1 s   always
  2,000   2.0 s  0.026*  0.0066  0.0066  0.0064  0.0058  0.0037  0.0020       0    2.0 s    1.7 s
  5,000   6.0 s  0.102*   0.025   0.025   0.025   0.023   0.014  0.0078       0 23.4 min 23.4 min
  8,000  10.0 s  0.177*   0.044   0.044   0.043   0.040   0.025   0.014       0 26.4 min 26.4 min
 12,000  15.8 s  0.271*  0.142*   0.068   0.066   0.060   0.038   0.021       0 27.7 min 27.7 min
 20,000  27.5 s  0.435*  0.316*   0.109   0.106   0.097   0.061   0.034       0 28.6 min 28.6 min
 32,000  45.0 s  0.648*  0.540*   0.162   0.159   0.146   0.092   0.051       0 29.1 min 29.1 min
 50,000  65.0 s  0.925*  0.818*  0.284*   0.227   0.209   0.132   0.073       0 29.4 min 29.4 min
100,000  90.0 s   1.56*   1.43*  0.781*   0.384   0.356   0.226   0.125       0 29.6 min 29.6 min
200,000 108.5 s   2.59*   2.41*   1.51*   0.638   0.592   0.377   0.209       0 29.8 min 29.8 min
262,144 120.0 s   3.14*   2.94*   1.96*   0.776   0.721   0.461   0.255       0 29.8 min 29.8 min

ttl: how long a history is protected after its last use.
Under each time: the value of a history idle for so long; * while it is protected.
goes 1st: from then on expired and worth less than expired_keep_score.
no park: from then on worth less than park_min_value.
"""
    )


def test_settings_come_from_the_command_line_the_environment_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "slotd.toml"
    file.write_text("[policy]\nidle_value_zero_s = 0\n")
    monkeypatch.setenv("STRATA_SLOT_PARK_MIN_VALUE", "0")
    told = printed("--config", str(file), "--set", "ttl_max_s=0")
    assert "ttl_max_s           0        command line\n" in told
    assert "park_min_value      0        environment STRATA_SLOT_PARK_MIN_VALUE\n" in told
    assert f"idle_value_zero_s   0        file {file}\n" in told
    [fifty] = [line for line in told.splitlines() if line.startswith(" 50,000")]
    assert fifty.split() == ["50,000", "0.0", "s", *["0.231"] * 8, "never", "never"]


def test_the_table_fits_its_width_with_long_times() -> None:
    told = printed("--set", "ttl_max_s=100000", "--set", "idle_value_zero_s=100000")
    assert max(map(len, told.splitlines())) <= WIDTH
    assert "…" not in told


def test_the_picture_says_in_its_file_what_it_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "curves.png"
    printed("--png", str(drawn), "--set", "ttl_max_s=600", "--set", "park_min_value=0.1")
    settings = PolicySettings(ttl_max_s=600, park_min_value=0.1)
    assert described(drawn) == description(figures(settings))


def test_the_picture_in_the_readme_is_that_of_the_defaults() -> None:
    assert described(PICTURE) == description(figures(PolicySettings()))


def test_the_picture_is_the_same_file_each_time_whatever_matplotlib_is_set_to() -> None:
    first = picture(PolicySettings())
    with mpl.rc_context({"lines.linewidth": 9.0, "font.size": 30.0}):
        assert picture(PolicySettings()) == first
        assert mpl.rcParams["font.size"] == 30.0


@pytest.mark.parametrize(
    "settings",
    [
        PolicySettings(ttl_max_s=0, idle_value_zero_s=0, park_min_value=0, expired_keep_score=0),
        PolicySettings(ttl_max_s=1e6, idle_value_zero_s=1e-3, park_min_value=1e6),
        PolicySettings(ttl_max_s=1e-6, idle_value_zero_s=1e9, expired_keep_score=2),
    ],
)
def test_settings_at_their_ends_can_be_drawn(settings: PolicySettings) -> None:
    assert described(BytesIO(picture(settings))) == description(figures(settings))


def command_line(*arguments: str, prelude: str = "") -> "subprocess.CompletedProcess[str]":
    code = f"{prelude}\nfrom slotd.cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, "curves", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_matplotlib_the_table_works_and_the_picture_says_how_to_get_it(
    tmp_path: Path,
) -> None:
    absent = "import sys\nsys.modules['matplotlib'] = None"
    assert command_line(prelude=absent).returncode == 0
    drawn = tmp_path / "curves.png"
    refused = command_line("--png", str(drawn), prelude=absent)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == (
        "slotd: --png needs matplotlib, which comes with the extra plot: in slotd's checkout, "
        "pip install '.[plot]'\n"
    )
    assert not drawn.exists()


def test_matplotlib_is_imported_for_a_picture_only() -> None:
    found = command_line(prelude="import atexit, sys\natexit.register(lambda: print("
                         "'matplotlib' in sys.modules))")  # fmt: skip
    assert found.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--png", "/nowhere/curves.png"], "--png /nowhere/curves.png: cannot be written: No such"),
        (["--set", "ttl_max_s=-1"], "command line: ttl_max_s is '-1': give a finite number"),
        (["--set", "ttl=1"], "command line: unknown setting 'ttl'"),
        (["--config", "/nowhere/slotd.toml"], "/nowhere/slotd.toml: no such configuration file"),
    ],
)
def test_errors_are_one_line(arguments: list[str], says: str) -> None:
    ended = command_line(*arguments)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert ended.stderr.count("\n") == 1
