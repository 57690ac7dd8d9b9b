"""What the README's section on security says, row by row.

Here: what no other tests show. The rest is beside what it tests: permissions and strangers at the
sockets (`tests.host.test_attach`), questions to the control socket (`tests.host.test_control`), the
metrics' address (`tests.eyes.test_metrics`), what root refuses (`tests.config.test_trust`,
`tests.daemon.test_engine_command`), what the engine inherits (`tests.daemon.test_inheritance`),
engines and clients that misbehave (`tests.faults`, `tests.core.test_fail_open`), the record
(`tests.record`) and the learned file (`tests.adaptive.test_learned`).
"""
