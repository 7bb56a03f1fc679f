package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A planning problem of the size of a real fleet, with every feature somewhere: tenants,
 * priorities, gangs, multislices, spread, quotas, reserved capacity, permissions, faults and
 * cordons. Equal seeds give equal ones.
 *
 * @param seed what it was made of
 * @param family the kind of its fleet
 * @param fleet the fleet
 * @param requests what is wanted
 * @param rules the rules
 */
record RandomProblem(
    long seed, String family, Fleet fleet, List<SliceRequest> requests, PlanningRules rules) {

  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

  private static final int VARIANTS = 8;

  private static final List<String> TENANTS = List.of("", "red", "blue", "green");

  private static final List<Shape> TORI =
      List.of(Shape.of(8, 8, 8), Shape.of(8, 12, 16), Shape.of(16, 16, 16), Shape.of(16, 20, 28));

  private static final List<Shape> LARGE =
      List.of(
          Shape.of(4, 4, 16),
          Shape.of(4, 8, 16),
          Shape.of(8, 8, 16),
          Shape.of(8, 16, 16),
          Shape.of(16, 16, 16));

  private static final List<Permission> PERMISSIONS =
      List.of(
          Permission.MOVABLE,
          Permission.EVICTABLE,
          Permission.ANY,
          new Permission(true, false, true));

  /** Makes problems; fleets of a family and variant are built once. */
  static final class Maker {

    private final Map<String, Fleet> bare = new HashMap<>();

    RandomProblem make(long seed) {
      SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 1);
      int variant = random.nextInt(VARIANTS);
      int at = random.nextInt(20);
      String family =
          at < 6 ? "torus" : at < 9 ? "v5p" : at < 12 ? "tpu7x" : at < 16 ? "v6e" : "mix";
      Fleet fleet = dressed(bare(family, variant), random);
      List<SliceRequest> requests = requests(fleet, random);
      return new RandomProblem(seed, family, fleet, requests, rules(fleet, random));
    }

    private Fleet bare(String family, int variant) {
      String key = family + variant;
      Fleet known = bare.get(key);
      if (known == null) {
        known = build(family, variant, new SplittableRandom(key.hashCode()));
        bare.put(key, known);
      }
      return known;
    }

    private Fleet build(String family, int variant, SplittableRandom random) {
      switch (family) {
        case "torus":
          Shape dims = TORI.get(variant % TORI.size());
          return Churn.fleet(
              TpuTopology.torus(dims.x(), dims.y(), dims.z()),
              0.1 + 0.6 * variant / (VARIANTS - 1),
              variant,
              variant < VARIANTS / 2 ? Churn.Rule.FIRST_FIT : Churn.Rule.SCATTER);
        case "v5p":
          return Situations.half(List.of(TpuTopology.v5p()), random);
        case "tpu7x":
          return Situations.half(List.of(TpuTopology.tpu7x()), random);
        case "v6e":
          return Situations.half(Collections.nCopies(16, TpuTopology.v6e()), random);
        default:
          List<Fleet> parts = new ArrayList<>();
          for (int i = 0; i < 16; i++) {
            parts.add(
                switch (i % 8) {
                  case 0 -> bare("v5p", (variant + i) % VARIANTS);
                  case 1 -> bare("tpu7x", (variant + i) % VARIANTS);
                  case 2, 3 -> bare("torus", (variant + i) % VARIANTS);
                  default -> bare("v6e", (variant + i) % VARIANTS);
                });
          }
          return merged(parts);
      }
    }
  }

  /** The first pod of each. */
  private static Fleet merged(List<Fleet> parts) {
    Fleet.Builder b = Fleet.builder();
    for (int i = 0; i < parts.size(); i++) {
      Pod pod = parts.get(i).pods().iterator().next();
      String id = String.format(Locale.ROOT, "mix-%02d", i);
      b.pod(id, pod.topology());
      for (RunningSlice s : pod.running()) {
        SliceRequest request =
            SliceRequest.builder(id + "-" + s.id().request()).shape(s.shape()).build();
        b.running(RunningSlice.builder(request, 0, id, s.shape(), s.footprint()).build());
      }
    }
    return b.build();
  }

  private static <T> T pick(List<T> list, SplittableRandom random) {
    return list.get(random.nextInt(list.size()));
  }

  private static int priority(SplittableRandom random) {
    return random.nextInt(3) == 0 ? 100 : 10 * random.nextInt(3);
  }

  /** The same slices with tenants, priorities and starts; labels on pods; faults and cordons. */
  private static Fleet dressed(Fleet bare, SplittableRandom random) {
    Fleet.Builder b = Fleet.builder();
    for (Pod pod : bare.pods()) {
      b.pod(pod.id(), pod.topology(), Map.of("zone", "z" + random.nextInt(3)));
    }
    for (RunningSlice s : bare.running()) {
      SliceRequest request =
          s.request().toBuilder().tenant(pick(TENANTS, random)).priority(priority(random)).build();
      Instant start = NOW.minusSeconds(random.nextInt(500_000));
      b.running(
          RunningSlice.builder(request, 0, s.pod(), s.shape(), s.footprint())
              .twist(s.twist())
              .startedAt(start)
              .checkpointAt(random.nextBoolean() ? start : null)
              .leaving(random.nextInt(40) == 0)
              .build());
    }
    Fleet fleet = b.build();
    int faults = random.nextInt(3) == 0 ? 1 + random.nextInt(30) : 0;
    for (int i = 0; i < faults; i++) {
      fleet = fault(fleet, random);
    }
    return fleet;
  }

  private static Fleet fault(Fleet fleet, SplittableRandom random) {
    Pod pod = pick(List.copyOf(fleet.pods()), random);
    TpuTopology t = pod.topology();
    Chip chip = t.chip(random.nextInt(t.chipCount()));
    Part host = new Part.Host(new HostId(random.nextInt(t.hostCount())));
    Health health = random.nextInt(3) == 0 ? Health.DEGRADED : Health.FAILED;
    return switch (random.nextInt(6)) {
      case 0 -> fleet.cordon(pod.id(), host);
      case 1 ->
          chip.get(Axis.X) + 1 < t.dims().x()
              ? fleet.report(pod.id(), new Part.Link(chip, Axis.X), health)
              : fleet;
      case 2 ->
          t.isOptical() ? fleet.report(pod.id(), new Part.Cube(t.cubeOf(chip)), health) : fleet;
      default -> fleet.report(pod.id(), host, health);
    };
  }

  private static List<SliceRequest> requests(Fleet fleet, SplittableRandom random) {
    List<Pod> pods = List.copyOf(fleet.pods());
    int n = (int) Math.round(Math.exp(random.nextDouble() * Math.log(300)));
    boolean plain = random.nextInt(4) == 0; // lone requests, as most batches have
    boolean ranked = random.nextInt(3) > 0;
    List<SliceRequest> out = new ArrayList<>();
    int gang = 0;
    int gangLeft = 0;
    for (int i = 0; i < n; i++) {
      Pod pod = pick(pods, random);
      TpuTopology t = pod.topology();
      SliceRequest.Builder b = SliceRequest.builder(String.format(Locale.ROOT, "want-%03d", i));
      boolean large = t.dims().rank() == 3 && random.nextInt(12) == 0;
      Shape shape = large ? pick(LARGE, random) : Situations.draw(t, random);
      if (plain) {
        out.add(b.shape(shape).build());
        continue;
      }
      if (random.nextInt(10) == 0) {
        b.chips(shape.chips());
      } else {
        b.shape(shape).mayTurn(random.nextInt(10) > 0);
        Shape other = Situations.draw(t, random);
        if (random.nextInt(8) == 0 && !other.sorted().equals(shape.sorted())) {
          b.shape(other);
        }
      }
      if (random.nextInt(7) == 0) {
        b.slices(2 + random.nextInt(7));
        switch (random.nextInt(5)) {
          case 0 -> b.spread(Spread.samePod());
          case 1 -> b.spread(Spread.differentPods());
          case 2 -> b.spread(Spread.atMost(1 + random.nextInt(3), "zone"));
          default -> b.spread(Spread.any());
        }
      }
      if (gangLeft == 0 && random.nextInt(12) == 0) {
        gang++;
        gangLeft = 2 + random.nextInt(4);
      }
      if (gangLeft > 0) {
        gangLeft--;
        b.gang("gang-" + gang);
      }
      switch (random.nextInt(12)) {
        case 0 -> b.pod(pod.id());
        case 1 -> b.accelerators(t.accelerator().name());
        case 2 -> b.requireLabel("zone", "z" + random.nextInt(3));
        case 3 -> b.healthyOnly(true);
        default -> {}
      }
      b.tenant(pick(TENANTS, random));
      b.priority(ranked ? priority(random) : 0);
      out.add(b.build());
    }
    return out;
  }

  private static PlanningRules rules(Fleet fleet, SplittableRandom random) {
    PlanningRules.Builder b = PlanningRules.builder().now(NOW);
    long chips = fleet.pods().stream().mapToLong(p -> p.topology().chipCount()).sum();
    if (random.nextInt(3) == 0) {
      b.quota("red", random.nextLong(chips / 2));
    }
    if (random.nextInt(4) == 0) {
      b.quota("blue", random.nextLong(chips / 2));
    }
    if (random.nextInt(5) == 0) {
      b.reserve(new PlanningRules.Reserved("green", Map.of(), random.nextLong(chips / 4)));
    }
    switch (random.nextInt(6)) {
      case 0 -> b.permitByDefault(pick(PERMISSIONS, random));
      case 1 -> {
        for (RunningSlice s : fleet.running()) {
          if (random.nextInt(10) == 0) {
            b.permit(s.id().request(), pick(PERMISSIONS, random));
          }
        }
      }
      default -> {
        return b.build();
      }
    }
    if (random.nextInt(3) == 0) {
      b.disruption(
          new PlanningRules.DisruptionBudget(
              random.nextInt(20), Long.MAX_VALUE, random.nextBoolean() ? 2 : Long.MAX_VALUE));
    }
    return b.build();
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "seed %d %s, %d pods, %d running, %d requests, %s, %d quotas",
        seed,
        family,
        fleet.pods().size(),
        fleet.running().size(),
        requests.size(),
        rules.permissions().isEmpty()
            ? rules.defaultPermission()
            : rules.permissions().size() + " permissions",
        rules.quotas().size() + rules.reserved().size());
  }
}
