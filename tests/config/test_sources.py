"""Where a setting comes from, and what is refused."""

from pathlib import Path

import pytest

from slotd.config.configuration import Configuration, Sources
from slotd.config.errors import ConfigurationError
from slotd.config.options import (
    ENGINE,
    KEEP_CLIENT_KEYS,
    LOG_FILE,
    LOG_FORMAT,
    LOG_LEVEL,
    OPTIONS,
    PARK,
    POLICY,
    POLICY_NUMBERS,
    SLOT_KEY,
    Option,
)
from slotd.policy.settings import DEFAULTS, ENVIRONMENT_NAMES, PolicySettings

TTL = next(option for option in POLICY_NUMBERS if option.key == "ttl_max_s")


def write(directory: Path, text: str) -> str:
    path = directory / "slotd.toml"
    path.write_text(text)
    return str(path)


def load(
    *command_line: tuple[str, str], file: str | None = None, **environment: str
) -> Configuration:
    return Sources(
        environment=environment,
        file=file,
        command_line=command_line,
        default_file="/nonexistent/slotd.toml",
    ).load()


def refusal(*command_line: tuple[str, str], file: str | None = None, **environment: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(*command_line, file=file, **environment)
    message = str(refused.value)
    assert "\n" not in message
    return message


def test_without_any_source_every_option_has_its_default() -> None:
    configuration = load()
    assert [setting.option for setting in configuration.settings.values()] == list(OPTIONS)
    for setting in configuration.settings.values():
        assert (setting.value, setting.origin) == (setting.option.default, "default")
    assert configuration.policy_settings() == PolicySettings()


def test_every_number_of_the_policy_has_its_option_and_its_documented_variable() -> None:
    assert {option.key: option.environment for option in POLICY_NUMBERS} == ENVIRONMENT_NAMES
    assert {option.key: option.default for option in POLICY_NUMBERS} == DEFAULTS


def test_names_and_variables_are_told_apart() -> None:
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)
    assert len({option.environment for option in OPTIONS}) == len(OPTIONS)


def test_a_file_sets_everything(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [policy]
        ttl_max_s = 60
        sibling_share = 0.5
        [slotd]
        engine = "/opt/engine"
        policy = "off"
        park = "native"
        slot_key = false
        keep_client_keys = true
        [log]
        file = "/var/log/slotd"
        format = "json"
        level = "debug"
        """,
    )
    configuration = load(file=path)
    assert configuration.policy_settings() == PolicySettings(ttl_max_s=60, sibling_share=0.5)
    assert configuration[ENGINE] == "/opt/engine"
    assert configuration[POLICY] == "off"
    assert configuration[PARK] == "native"
    assert configuration[SLOT_KEY] is False
    assert configuration[KEEP_CLIENT_KEYS] is True
    assert configuration[LOG_FILE] == "/var/log/slotd"
    assert configuration[LOG_FORMAT] == "json"
    assert configuration[LOG_LEVEL] == "debug"
    assert configuration.settings["policy.ttl_max_s"].origin == f"file {path}"
    assert configuration.settings["policy.park_min_value"].origin == "default"


def test_the_command_line_beats_the_environment_beats_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "[policy]\nttl_max_s = 1\n")
    in_file = load(SLOTD_CONFIG=path)
    in_environment = load(SLOTD_CONFIG=path, STRATA_SLOT_TTL_MAX_S="2")
    on_command_line = load(("ttl_max_s", "3"), SLOTD_CONFIG=path, STRATA_SLOT_TTL_MAX_S="2")
    assert [c[TTL] for c in (in_file, in_environment, on_command_line)] == [1, 2, 3]
    assert [
        c.settings["policy.ttl_max_s"].origin for c in (in_file, in_environment, on_command_line)
    ] == [f"file {path}", "environment STRATA_SLOT_TTL_MAX_S", "command line"]


@pytest.mark.parametrize("name", ["ttl_max_s", "policy.ttl_max_s", "STRATA_SLOT_TTL_MAX_S"])
def test_a_setting_goes_by_any_of_its_names_and_the_last_counts(name: str) -> None:
    assert load(("ttl_max_s", "3"), (name, "4"))[TTL] == 4


def test_the_file_named_on_the_command_line_is_read_instead_of_others(tmp_path: Path) -> None:
    path = write(tmp_path, "[policy]\nttl_max_s = 1\n")
    assert load(file=path, SLOTD_CONFIG="/nonexistent")[TTL] == 1


def test_the_usual_file_is_read_when_it_is_there(tmp_path: Path) -> None:
    path = write(tmp_path, "[policy]\nttl_max_s = 1\n")
    assert Sources(environment={}, default_file=path).load()[TTL] == 1


def test_an_empty_variable_is_not_set() -> None:
    configuration = load(STRATA_SLOT_TTL_MAX_S="", SLOTD_CONFIG="", SLOTD_ENGINE="")
    assert {setting.origin for setting in configuration.settings.values()} == {"default"}


def test_variables_of_others_are_left_alone() -> None:
    load(STRATA_SLOT_CHECKPOINTS="4", STRATA_SLOT_NONSENSE="x", SLOTD_SHIM="1")


@pytest.mark.parametrize(
    ("text", "flag"), [("1", True), ("Yes", True), (" on ", True), ("false", False), ("0", False)]
)
def test_a_flag_in_the_environment_is_a_word(text: str, flag: bool) -> None:
    assert load(SLOTD_SLOT_KEY=text)[SLOT_KEY] is flag


@pytest.mark.parametrize("text", ["abc", "-1", "nan", "inf", "1e999", " ", "1,5", "0x10", "120s"])
@pytest.mark.parametrize("option", POLICY_NUMBERS, ids=lambda option: option.key)
def test_a_number_the_policy_cannot_have_is_refused_wherever_it_stands(
    option: Option[float], text: str, tmp_path: Path
) -> None:
    in_environment = refusal(**{option.environment: text})
    assert in_environment.startswith(f"environment: {option.environment} is {text!r}: give ")
    on_command_line = refusal((option.key, text))
    assert on_command_line.startswith(f"command line: {option.key} is {text!r}: give ")
    path = write(tmp_path, f"[policy]\n{option.key} = '{text}'\n")
    assert refusal(file=path) == (
        f"{path}: [policy] {option.key} is {text!r}: give a number, without quotes"
    )


@pytest.mark.parametrize("key", ["park_kept_share", "sibling_share"])
def test_a_share_above_one_is_refused(key: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"[policy]\n{key} = 1.5\n")
    assert refusal(file=path).startswith(f"{path}: [policy] {key} is 1.5: give a share from 0 to 1")
    assert load((key, "1"))[next(o for o in POLICY_NUMBERS if o.key == key)] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[policy]\nttl_max_s = -1", "[policy] ttl_max_s is -1: give a finite number, 0 or more"),
        ("[policy]\nttl_max_s = inf", "[policy] ttl_max_s is inf: give a finite number"),
        (f"[policy]\nttl_max_s = {10**400}", "give a finite number"),
        ("[policy]\nttl_max_s = true", "[policy] ttl_max_s is True: give a number, without quotes"),
        ("[policy]\nttl_max = 1", "[policy] unknown key 'ttl_max' (= 1): give one of ttl_max_s, "),
        ("[slot]\nengine = 'e'", "unknown table 'slot': give one of the tables [policy], [slotd]"),
        ("ttl_max_s = 1", "unknown key 'ttl_max_s': give one of the tables [policy], "),
        ("policy = 'off'", "policy is 'off': write it as a table, [policy]"),
        ("[slotd]\npolicy = 'lru'", "[slotd] policy is 'lru': give one of retention, adaptive"),
        ("[slotd]\nslot_key = 'no'", "[slotd] slot_key is 'no': give true or false, without"),
        ("[slotd]\nengine = ''", "[slotd] engine is '': give the path of the engine to start"),
        ("[slotd]\nengine = ['a']", "[slotd] engine is ['a']: give the path of the engine"),
        ("[slotd]\nengine = 'a\\u0000'", ""),
        ('[slotd]\nengine = "a\\u0000b"', "[slotd] engine is 'a\\x00b': give the path"),
        ("[log]\nlevel = 'loud'", "[log] level is 'loud': give one of debug, info, warning, error"),
        ("[policy\n", "is not valid TOML: "),
        ("[policy]\n[policy]\n", "is not valid TOML: "),
        ("a = " + "[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_a_file_may_not_say_is_refused_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = write(tmp_path, text)
    if not said:  # a literal string: nothing is escaped in it, so it is an ordinary path
        assert load(file=path)[ENGINE] == "a\\u0000"
        return
    message = refusal(file=path)
    assert message.startswith(f"{path}: ")
    assert said in message


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "slotd.toml"
    path.write_bytes(b"[policy]\n# \xff\n")
    assert "not UTF-8" in refusal(file=str(path))


@pytest.mark.parametrize("name", ["none", ""])
def test_a_named_file_has_to_be_there(tmp_path: Path, name: str) -> None:
    missing = str(tmp_path / name) if name else ""
    if name:
        assert refusal(SLOTD_CONFIG=missing) == (
            f"{missing}: no such configuration file: give SLOTD_CONFIG one that exists"
        )
    assert refusal(file=missing) == (
        f"{missing}: no such configuration file: give --config one that exists"
    )


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    way_out = "give the path of a TOML file"
    assert refusal(file=str(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory: {way_out}"


def test_one_path_for_two_purposes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "also").symlink_to(tmp_path)
    named = (("record.file", f"{tmp_path}/new"), ("log.file", f"{tmp_path}/also/new"))
    with pytest.raises(ConfigurationError) as refusal:
        load(*named)
    assert str(refusal.value) == (
        f"log.file and record.file are both '{tmp_path}/also/new': give each a path of its own"
    )
    load(("record.file", f"{tmp_path}/new"), ("log.file", f"{tmp_path}/other"))
    file = write(tmp_path, f"[log]\nfile = '{tmp_path}/slotd.toml'\n")
    with pytest.raises(ConfigurationError, match=r"log\.file and the configuration file are both"):
        load(file=file)


def test_an_unknown_setting_on_the_command_line_is_refused() -> None:
    assert refusal(("ttl", "1")) == (
        "command line: unknown setting 'ttl' (= '1'): 'slotd config' lists the names"
    )
