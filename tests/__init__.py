"""The tests of docindex, and the long programs that try for minutes what the tests try for seconds.

python -m tests.trials.crash.kill 300            kills writers
python -m tests.trials.crash.act_storm           disturbs and kills act and undo
python -m tests.trials.crash.power_loss 3000     cuts the power while an index is written
python -m tests.trials.crash.interrupts 5000     interrupts them at any instruction
python -m tests.storage.damage 2000              damages files
python -m tests.trials.stress                    uses one file from many processes
python -m tests.trials.stress.log_growth 300     measures how long the write-ahead log gets
python -m tests.trials.stress.two_libraries 100  writes from two libraries in one process
python -m tests.trials.stress.forks 1000         writes from forked processes
python -m tests.apps.notes --measure             times the suggestions of an app while it imports notes
python -m tests.trials.oracle 1000               compares answers with definitions in plain Python
python -m tests.spark.cluster_trial              loses workers of a Spark cluster, on 100 MB of real text
python -m tests.trial_home /tmp/home             judges what is found and kept in a home of 14,500 files
"""
