package dev.slicewright.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.RolloutVerifier;
import dev.slicewright.plan.Step;
import dev.slicewright.plan.Wave;
import dev.slicewright.request.PlanningRules;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Carries rollouts out in every way that they allow, or many, and looks at each state. */
public final class RolloutChecks {

  /** All subsets of a wave of so many steps or fewer. */
  private static final int EXHAUSTIVE = 6;

  private RolloutChecks() {}

  /**
   * Every prefix, subsets of every wave in random orders, random orders along what is waited for.
   */
  public static void check(Rollout rollout, long seed) {
    Random random = new Random(seed);
    assertThat(RolloutVerifier.verify(rollout.fleet(), rollout.plan(), rollout)).isEmpty();
    Fleet end = rollout.plan().applyTo(rollout.fleet());
    Fleet before = rollout.fleet();
    assertThat(rollout.after(0)).isEqualTo(before);
    for (Wave wave : rollout.waves()) {
      int n = wave.steps().size();
      int subsets = n <= EXHAUSTIVE ? 1 << n : 30;
      for (int k = 0; k < subsets; k++) {
        List<Step> some = new ArrayList<>();
        for (int i = 0; i < n; i++) {
          if (n <= EXHAUSTIVE ? (k & 1 << i) != 0 : random.nextBoolean()) {
            some.add(wave.steps().get(i));
          }
        }
        Collections.shuffle(some, random);
        legal(rollout, end, run(rollout, before, some));
      }
      before = run(rollout, before, wave.steps());
      int last = wave.steps().get(n - 1).number();
      assertThat(rollout.after(last)).isEqualTo(before);
    }
    assertThat(before).isEqualTo(end);
    for (int k = 0; k < 3; k++) {
      Set<Integer> done = new HashSet<>();
      Fleet at = rollout.fleet();
      while (done.size() < rollout.steps().size()) {
        List<Step> ready =
            rollout.steps().stream()
                .filter(s -> !done.contains(s.number()) && done.containsAll(s.after()))
                .toList();
        Step next = ready.get(random.nextInt(ready.size()));
        at = rollout.apply(at, next);
        legal(rollout, end, at);
        done.add(next.number());
      }
      assertThat(at).isEqualTo(end);
    }
  }

  private static Fleet run(Rollout rollout, Fleet fleet, List<Step> steps) {
    Fleet at = fleet;
    for (Step step : steps) {
      at = rollout.apply(at, step);
    }
    return at;
  }

  /** A fleet refuses overlaps by itself; the rest is looked at here. */
  private static void legal(Rollout rollout, Fleet end, Fleet at) {
    for (RunningSlice slice : at.running()) {
      RunningSlice was = rollout.fleet().running(slice.id()).orElse(null);
      Pod pod = at.pod(slice.pod()).orElseThrow();
      if (was == null || !was.footprint().equals(slice.footprint())) {
        assertThat(pod.healthOf(slice.footprint())).isNotEqualTo(Health.FAILED);
        assertThat(pod.cordonedCells().containsAny(pod.topology().cells(slice.footprint())))
            .isFalse();
      }
    }
    for (PlanningRules.Quota quota : rollout.plan().rules().quotas()) {
      long most = Math.max(used(quota, rollout.fleet()), Math.max(quota.chips(), used(quota, end)));
      assertThat(used(quota, at)).isLessThanOrEqualTo(most);
    }
  }

  private static long used(PlanningRules.Quota quota, Fleet fleet) {
    return fleet.running().stream()
        .filter(s -> s.request().tenant().equals(quota.tenant()))
        .filter(
            s ->
                quota.accelerator().isEmpty()
                    || fleet
                        .pod(s.pod())
                        .orElseThrow()
                        .topology()
                        .accelerator()
                        .name()
                        .equals(quota.accelerator()))
        .mapToLong(s -> s.shape().chips())
        .sum();
  }
}
