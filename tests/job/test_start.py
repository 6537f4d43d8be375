"""How a run starts or is refused, and what the programs say and where."""

import signal
import time

import harness
import pytest
import runs


def options(train_set, **more):
    return {"data.train": train_set, **{k.replace("__", "."): v for k, v in more.items()}}


def test_a_start_that_fails_leaves_the_name_free(tiny_set, tmp_path):
    bad = options(tiny_set(60), record__dir="/proc/nowhere")
    runs.launch(tmp_path, 2, bad).result.failed(1)
    assert not (tmp_path / "runs" / "run").exists()
    runs.train(tmp_path, 2, options(tiny_set(60)))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_failure_in_the_run_stands_in_its_log(rank, tiny_set, tmp_path):
    run = runs.launch(tmp_path, 2, options(tiny_set(60), fault__point="step", fault__step=1,
                                           fault__rank=rank))
    run.result.failed(1)
    assert run.log.count("injected failure at step") == 1


def test_a_failure_that_all_know_stands_in_the_log_once(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, options(tiny_set(60), train__epochs=1))
    again = options(tiny_set(60), train__epochs=2, run__resume="auto", model__width=8)
    runs.launch(tmp_path, 3, again).result.failed(2)
    assert run.log.count("model.width 4 -> 8") == 1


@pytest.mark.parametrize("delay", [0.4, 0.6, 0.8])
def test_a_stop_that_comes_while_it_starts_is_followed(delay, tiny_set, tmp_path):
    """Until the program has begun a signal ends it; after that it saves at the first update."""
    run = runs.launch(tmp_path, 0, options(tiny_set(60), train__epochs=200, run__resume="auto"),
                      during=lambda process: (time.sleep(delay), process.send_signal(signal.SIGTERM)))
    assert run.result.code in (85, -signal.SIGTERM)
    if run.result.code == 85:
        assert "stopped on request" in run.log
    else:
        assert not (tmp_path / "runs" / "run").exists()


def test_early_stopping_without_a_validation_sample_is_refused(tiny_set, tmp_path):
    values = options(tiny_set(60), data__holdout=0.001, train__early_stopping=1)
    result = runs.launch(tmp_path, 2, values).result.failed(2)
    assert result.text.count("train.early_stopping=1 has nothing to go by") == 1


def test_a_test_set_that_is_the_training_set_is_told(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, options(tiny_set(60), data__test=tiny_set(60)))
    assert "data.test is the training set" in run.log
    other = runs.train(tmp_path, 0, options(tiny_set(60), data__test=tiny_set(60, seed=1)),
                       name="other")
    assert "is the training set" not in other.log


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_last_batch_of_one_sample_is_refused_where_it_cannot_be_trained(ranks, tiny_set,
                                                                        tmp_path):
    """ResNet's last stage has one value per channel there; cifar_cnn's has more, and trains."""
    small = tiny_set(17, size=8)
    values = options(small, data__holdout=0, train__batch_size=4, model__name="resnet18")
    result = runs.launch(tmp_path, ranks, values).result.failed(2)
    assert result.text.count("a micro-batch of one sample cannot be trained on") == 1
    assert "data.drop_last=true" in result.text
    assert not (tmp_path / "runs" / "run").exists()
    runs.train(tmp_path, ranks, {**values, "data.drop_last": True, "train.epochs": 1}, name="drop")


def test_a_test_set_that_validates_and_a_run_of_warm_up_are_told(tiny_set, tmp_path):
    values = options(tiny_set(60), data__test=tiny_set(24, seed=9), train__epochs=1)
    run = runs.train(tmp_path, 0, {**values, "data.val": tiny_set(24, seed=9),
                                   "schedule.warmup_epochs": 1})
    assert run.log.count("data.test is the validation set") == 1
    assert run.log.count("the whole run is warm-up (4 updates)") == 1
    other = runs.train(tmp_path, 0, {**values, "data.val": tiny_set(24, seed=8)}, name="other")
    assert "is the validation set" not in other.log and "warm-up" not in other.log


def test_scores_are_written_whatever_the_log_level(tiny_set, tmp_path, lockstep):
    run = runs.train(tmp_path, 0, options(tiny_set(60), data__test=tiny_set(60), train__epochs=1,
                                          run__log_level="error"))
    assert "test set" in run.result.out and "epoch 1/1" not in run.result.out
    result = lockstep(2, "evaluate", checkpoint=run.folder / "checkpoints" / "best",
                      data__test=tiny_set(60), run__log_level="error").ok()
    assert result.out.count(" of 60)") >= 1


def test_scores_that_cannot_be_written_are_a_failure(tiny_set, tmp_path):
    run = runs.train(tmp_path, 0, options(tiny_set(60), train__epochs=1))
    for args in (["lockstep", "evaluate", "--checkpoint", run.folder / "checkpoints" / "best",
                  "--data.test", tiny_set(60)],
                 ["lockstep", "train", "--print-config"], ["lockstep", "--help"],
                 ["inspect_shards", tiny_set(60)]):
        command = ["sh", "-c", '"$@" >/dev/full', "sh", harness.program(args[0]), *args[1:]]
        result = harness.run(command).failed(1)
        assert "cannot be written" in result.text or "could not be written" in result.text


def test_far_more_threads_than_cores_are_refused(tiny_set, tmp_path):
    result = runs.launch(tmp_path, 0, options(tiny_set(60), run__threads=100000)).result.failed(2)
    assert "run.threads" in result.text


def test_ranks_with_different_instruction_sets_are_refused(tiny_set, tmp_path):
    program = harness.program("lockstep")
    args = ["train", *harness.option_args({**runs.QUICK, **options(tiny_set(60)),
                                           "run.root": tmp_path})]
    plain = ["env", "ATEN_CPU_CAPABILITY=default", program]
    result = harness.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", 1, program,
                          *args, ":", "-np", 1, *plain, *args]).failed(1)
    assert result.text.count("different instruction sets") == 1, result.explain()
