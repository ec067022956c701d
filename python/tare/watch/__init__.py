"""The watcher: snapshots of processes that record into files of fixed size, without a launcher (`tare watch`)."""
