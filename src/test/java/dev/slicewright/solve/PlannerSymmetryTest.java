package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What makes no difference to a problem makes none to the values of its proved plans. */
class PlannerSymmetryTest {

  private static Plan plan(Instance i) {
    return SlicePlanner.builder()
        .cost(i.cost())
        .failOnRejectedPlan(true)
        .build()
        .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofSeconds(20)));
  }

  private static void same(Instance a, Instance b) {
    Plan one = plan(a);
    Plan two = plan(b);
    if (one.score().isOptimal() && two.score().isOptimal()) {
      assertThat(two.score().values()).as("%s\n%s", a, b).isEqualTo(one.score().values());
    }
  }

  @Test
  void theOrderOfRequestsDoesNotMatter() {
    for (long seed = 0; seed < 150; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      List<SliceRequest> other = new ArrayList<>(i.requests());
      Collections.shuffle(other, new Random(seed));
      same(i, new Instance(seed, i.limits(), i.fleet(), other, i.rules(), i.cost()));
    }
  }

  @Test
  void namesDoNotMatter() {
    for (long seed = 200; seed < 350; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      // Prices by pod name the pods.
      if (i.cost().pricesByPod().isEmpty()) {
        same(i, renamed(i));
      }
    }
  }

  /** Pods and requests with names that sort the other way round. */
  private static Instance renamed(Instance i) {
    Fleet.Builder b = Fleet.builder();
    for (Pod pod : i.fleet().pods()) {
      String id = other(pod.id());
      b.pod(id, pod.topology(), pod.labels());
      pod.reportedHealth().forEach((part, health) -> b.health(id, part, health));
      pod.cordons().forEach(part -> b.cordon(id, part));
      if (pod.isCordoned()) {
        b.cordonPod(id);
      }
      for (Hold h : pod.holds()) {
        b.hold(new Hold(h.id(), id, h.footprint(), other(h.request()), h.expiry()));
      }
      for (RunningSlice s : pod.running()) {
        RunningSlice.Builder r =
            RunningSlice.builder(renamed(s.request()), s.id().index(), id, s.shape(), s.footprint())
                .twist(s.twist())
                .leaving(s.leaving());
        s.startedAt().ifPresent(r::startedAt);
        s.checkpointAt().ifPresent(r::checkpointAt);
        s.restartTime().ifPresent(r::restartTime);
        b.running(r.build());
      }
    }
    PlanningRules.Builder rules =
        PlanningRules.builder()
            .now(i.rules().now())
            .disruption(i.rules().disruption())
            .permitByDefault(i.rules().defaultPermission());
    i.rules().quotas().forEach(rules::quota);
    i.rules().reserved().forEach(rules::reserve);
    i.rules().permissions().forEach((id, p) -> rules.permit(other(id), p));
    return new Instance(
        i.seed(),
        i.limits(),
        b.build(),
        i.requests().stream().map(PlannerSymmetryTest::renamed).toList(),
        rules.build(),
        i.cost());
  }

  private static String other(String id) {
    StringBuilder mirrored = new StringBuilder("n");
    id.chars().forEach(c -> mirrored.append((char) ('~' - c + '!')));
    return mirrored.toString();
  }

  private static SliceRequest renamed(SliceRequest r) {
    SliceRequest.Builder b =
        SliceRequest.builder(other(r.id()))
            .slices(r.slices())
            .mayTurn(r.mayTurn())
            .interconnect(r.interconnect())
            .healthyOnly(r.healthyOnly())
            .priority(r.priority())
            .tenant(r.tenant())
            .spread(r.spread());
    if (r.chips() > 0) {
      b.chips(r.chips());
    }
    r.shapes().forEach(b::shape);
    b.accelerators(r.accelerators().toArray(new String[0]));
    r.requiredLabels().forEach(b::requireLabel);
    r.forbiddenLabels().forEach((k, values) -> values.forEach(v -> b.forbidLabel(k, v)));
    r.pod().ifPresent(p -> b.pod(other(p)));
    r.gang().ifPresent(g -> b.gang(other(g)));
    return b.build();
  }

  // ---------------------------------------------------------------- tori

  /** A torus of one-chip hosts that wraps everywhere, with slices, failures and cordons. */
  private static Instance torus(long seed, int turn, int dx, int dy, int dz) {
    SplittableRandom random = new SplittableRandom(seed);
    int[] n = {2 + random.nextInt(3), 2 + random.nextInt(2), 2 + random.nextInt(2)};
    TpuTopology t =
        TpuTopology.torusBuilder(at(n, turn, 0), at(n, turn, 1), at(n, turn, 2))
            .hostTile(Shape.of(1, 1, 1))
            .build();
    int[] shift = {dx, dy, dz};
    Fleet fleet = Fleet.builder().pod("pod", t).build();
    for (int r = 0; r < 2; r++) {
      int[] e = {1 + random.nextInt(2), 1 + random.nextInt(2), 1 + random.nextInt(2)};
      int[] o = {random.nextInt(n[0]), random.nextInt(n[1]), random.nextInt(n[2])};
      Shape shape = Shape.of(at(e, turn, 0), at(e, turn, 1), at(e, turn, 2));
      Footprint box = new Footprint.Box(chip(o, shift, n, turn), shape);
      if (!fleet.pod("pod").orElseThrow().busy().containsAny(t.cells(box))) {
        SliceRequest request = SliceRequest.builder("run-" + r).shape(shape).build();
        fleet = fleet.place(RunningSlice.builder(request, 0, "pod", shape, box).build());
      }
    }
    for (int f = 0; f < 2; f++) {
      int[] o = {random.nextInt(n[0]), random.nextInt(n[1]), random.nextInt(n[2])};
      HostId host = t.hostOf(chip(o, shift, n, turn));
      fleet =
          random.nextBoolean()
              ? fleet.failHost("pod", host)
              : fleet.cordon("pod", new dev.slicewright.fleet.Part.Host(host));
    }
    List<SliceRequest> requests = new ArrayList<>();
    for (int r = 0; r < 4; r++) {
      int[] e = {1 + random.nextInt(n[0]), 1 + random.nextInt(2), 1 + random.nextInt(2)};
      Shape shape = Shape.of(at(e, turn, 0), at(e, turn, 1), at(e, turn, 2));
      requests.add(
          SliceRequest.builder("r" + r)
              .shape(shape)
              .mayTurn(random.nextBoolean())
              .priority(random.nextInt(2))
              .build());
    }
    dev.slicewright.request.Permission permission =
        random.nextBoolean()
            ? dev.slicewright.request.Permission.ANY
            : dev.slicewright.request.Permission.PINNED;
    PlanningRules rules = PlanningRules.builder().permitByDefault(permission).build();
    return new Instance(
        seed,
        RandomFleets.Limits.DEFAULT,
        fleet,
        requests,
        rules,
        dev.slicewright.cost.CostTerms.DEFAULT);
  }

  /** Axis a of the turned world is axis a + turn of the given one. */
  private static int at(int[] values, int turn, int axis) {
    return values[(axis + turn) % Axis.values().length];
  }

  private static Chip chip(int[] origin, int[] shift, int[] n, int turn) {
    int[] moved = new int[3];
    for (int a = 0; a < 3; a++) {
      moved[a] = (origin[a] + shift[a]) % n[a];
    }
    return new Chip(at(moved, turn, 0), at(moved, turn, 1), at(moved, turn, 2));
  }

  @Test
  void toriMayBeShiftedAndTurned() {
    for (long seed = 0; seed < 60; seed++) {
      Instance i = torus(seed, 0, 0, 0, 0);
      same(i, torus(seed, 0, 1, 1, 1));
      same(i, torus(seed, 1 + (int) (seed % 2), 0, 1, 0));
    }
  }
}
