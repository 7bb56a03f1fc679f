package dev.slicewright.solve;

import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Drain;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;

/** Tiny problems with rules on victims, drains and room goals. Stateless. */
final class GoalProblems {
  private GoalProblems() {}

  /** The problem of a seed, of pods of some kinds. */
  static Instance of(long seed, Set<RandomFleets.Kind> kinds) {
    Instance i = TinyProblems.of(seed, kinds);
    SplittableRandom random = new SplittableRandom(seed * 31 + 7);
    PlanningRules.Builder b = i.rules().toBuilder();
    List<RunningSlice> running = List.copyOf(i.fleet().running());
    List<Pod> pods = List.copyOf(i.fleet().pods());
    if (random.nextBoolean()) {
      b.victims(victims(random, running));
    }
    if (random.nextInt(3) > 0) {
      b.drain(drain(random, running, pods, i.rules().now()));
    }
    if (random.nextInt(3) > 0) {
      Pod pod = pods.get(random.nextInt(pods.size()));
      List<Shape> legal = pod.topology().legalShapes();
      SliceRequest.Builder like =
          SliceRequest.builder("room")
              .shape(legal.get(random.nextInt(legal.size())))
              .priority(random.nextInt(200))
              .tenant(random.nextInt(3) == 0 ? "red" : "");
      if (random.nextInt(4) == 0) {
        like.pod(pod.id());
      }
      int times = 1 + random.nextInt(2);
      long weight = random.nextBoolean() ? 0 : 1 + random.nextInt(9);
      b.room(new RoomGoal(like.build(), times, weight));
      if (random.nextInt(3) == 0) {
        b.room(
            new RoomGoal(
                SliceRequest.builder("spare").shape(legal.get(0)).build(),
                1,
                random.nextBoolean() ? 0 : 5));
      }
    }
    return new Instance(i.seed(), i.limits(), i.fleet(), i.requests(), b.build(), i.cost());
  }

  private static VictimRules victims(SplittableRandom random, List<RunningSlice> running) {
    VictimRules.Builder v = VictimRules.builder();
    if (random.nextInt(3) == 0) {
      v.belowPriority(random.nextInt(12));
    }
    if (random.nextInt(4) == 0) {
      v.overQuotaOnly(true);
    }
    if (random.nextInt(4) == 0) {
      v.coolDown(Duration.ofMinutes(random.nextInt(600)));
    }
    if (random.nextInt(2) == 0) {
      v.mostPerTenant(random.nextInt(3));
    }
    if (!running.isEmpty() && random.nextInt(3) == 0) {
      v.protectRequests(Set.of(running.get(random.nextInt(running.size())).id().request()));
    }
    if (random.nextInt(4) == 0) {
      v.protectTenants(Set.of("blue"));
    }
    return v.build();
  }

  private static Drain drain(
      SplittableRandom random, List<RunningSlice> running, List<Pod> pods, Instant now) {
    Pod pod = pods.get(random.nextInt(pods.size()));
    Drain drain;
    if (!running.isEmpty() && random.nextInt(3) > 0) {
      RunningSlice slice = running.get(random.nextInt(running.size()));
      for (Pod of : pods) {
        pod = of.id().equals(slice.pod()) ? of : pod;
      }
      int[] cells = pod.topology().cells(slice.footprint());
      Set<HostId> hosts = new TreeSet<>();
      hosts.add(pod.topology().hostOfCell(cells[random.nextInt(cells.length)]));
      hosts.add(new HostId(random.nextInt(pod.topology().hostCount())));
      drain = Drain.hosts(pod.id(), hosts);
    } else if (pod.topology().cubeCount() > 0 && random.nextBoolean()) {
      int cube = random.nextInt(pod.topology().cubeCount());
      drain = Drain.cubes(pod.id(), List.of(new CubeId(cube)));
    } else {
      String zone = pod.labels().get("zone");
      drain =
          zone != null && random.nextBoolean() ? Drain.label("zone", zone) : Drain.pod(pod.id());
    }
    return random.nextBoolean() ? drain : drain.by(now.plusSeconds(random.nextInt(1_200)));
  }
}
