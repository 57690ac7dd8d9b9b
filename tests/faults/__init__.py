"""What can go wrong on either side of slotd, each with slotd and an engine as real processes.

Here: the faults below. Beside what they test: logs that cannot be written, line by line
(`tests.daemon.test_log_faults`), clients of a host that are killed at any point, after which the
next one is in step (`tests.host.test_clients_that_go`), engines of a host that end
(`tests.host.test_engines_that_end`), the same lies without processes (`tests.core`, `tests.fuzz`).

    fault                                 module               what holds besides exact tokens
    the engine gone at every line         test_deaths          every line it printed arrives and is
                                                               told of; its status is slotd's
    the client gone at every line         test_deaths          the engine gets all it had said
    both gone at every line               test_deaths          the engine's end is told
    a client that does not read, and      test_stopped         bounded by the pipes; what it stopped
    stops what runs                                            goes on from all of its reply
    SIGSTOP and SIGCONT of either side    test_stopped         nothing is lost, no drift
    an engine that stalls for good        test_stopped         slotd ends when it is asked to
    a full disk, no standard error        test_log             nobody notices
    an engine that lies                   test_hostile_engine  the lie passes, drifts are told, its
                                                               slots hold nothing known
    half a line, and SIGKILL              test_hostile_engine  it arrives
    100 MB without a newline              test_hostile_engine  both ways, in bounded memory
    a client that says what it should     test_hostile_client  it passes, the engine refuses it,
    not                                                        what is believed stays right
    requests beside one under way         test_hostile_client  each in its turn
"""
