import pytest

# The checks live beside the tests: their assertions are to say as much as those of a test.
for module in ("bench", "client", "own_wire", "play", "rough", "wire"):
    pytest.register_assert_rewrite(f"tests.model_equivalence.{module}")
