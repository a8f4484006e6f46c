"""The list of all checks: each takes a `Case` and raises `AssertionError`, or `NotApplicable`."""

from __future__ import annotations

from collections.abc import Callable

from natlang_envs.conformance import contract, determinism, snapshots, vectors
from natlang_envs.conformance.case import Case

Check = Callable[[Case], None]

CHECKS: tuple[Check, ...] = (
    determinism.passes_check_env,
    determinism.same_seed_same_episodes,
    determinism.same_episodes_in_another_process,
    determinism.instances_are_independent,
    determinism.leaves_global_random_numbers_alone,
    determinism.different_seeds_differ,
    determinism.spec_round_trips,
    contract.infos_are_complete,
    contract.steps_have_builtin_types,
    contract.texts_are_in_their_spaces,
    contract.samples_are_admissible,
    contract.unknown_text_is_answered,
    contract.white_space_is_stripped,
    contract.wrong_types_are_refused,
    contract.order_is_enforced,
    contract.horizon_holds,
    contract.spec_tells_the_horizon,
    contract.task_ids_lead_back,
    contract.wrong_tasks_are_refused,
    contract.unknown_options_are_refused,
    contract.splits_are_disjoint,
    contract.plans_succeed,
    contract.oracle_is_exact,
    snapshots.snapshots_restore,
    snapshots.snapshots_restore_in_another_process,
    snapshots.snapshots_change_nothing,
    vectors.vector_equals_sync,
    vectors.vector_takes_task_lists,
    vectors.vector_calls_single_environments,
    vectors.async_equals_sync,
    vectors.async_shared_memory_is_refused,
)
