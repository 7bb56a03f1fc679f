package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/** Wired tori of one pod. Stateless. */
final class TorusFamilies {

  static final int WANTED = 100;
  static final int DEAD_HOSTS = 20;
  static final int DEAD_LINKS = 10;
  static final double OVER = 1.1;
  private static final long BIG = 1_024;
  private static final long SMALL = 32;

  private TorusFamilies() {}

  /** A source of chance that differs between families of one seed. */
  static SplittableRandom random(String family, long seed) {
    return new SplittableRandom(seed * 0x9E3779B97F4A7C15L ^ family.hashCode());
  }

  private static TpuTopology torus() {
    return TpuTopology.torus(16, 20, 28);
  }

  private static Fleet one(TpuTopology topology) {
    return Fleet.builder().pod(Churn.POD, topology).build();
  }

  static SliceRequest want(int number, Shape shape) {
    return SliceRequest.builder(String.format(Locale.ROOT, "want-%04d", number))
        .shape(shape)
        .build();
  }

  /** Requests until their chips reach a number. */
  private static List<SliceRequest> until(double chips, Mix mix, SplittableRandom random) {
    List<SliceRequest> out = new ArrayList<>();
    for (long sum = 0; sum < chips; ) {
      Shape shape = mix.draw(random);
      out.add(want(out.size(), shape));
      sum += shape.chips();
    }
    return out;
  }

  static BenchProblem empty(long seed) {
    return new BenchProblem(
        "torus-0",
        seed,
        one(torus()),
        until(OVER * torus().chipCount(), Mix.TORUS, random("torus-0", seed)));
  }

  static BenchProblem churned(String family, long seed, Churn.Rule rule, double load) {
    SplittableRandom random = random(family, seed);
    Fleet fleet = Churn.fleet(torus(), load, random.nextLong(), rule, Churn.EVENTS, Mix.TORUS);
    List<SliceRequest> requests = new ArrayList<>();
    while (requests.size() < WANTED) {
      requests.add(want(requests.size(), Mix.TORUS.draw(random)));
    }
    return new BenchProblem(family, seed, fleet, requests);
  }

  /** Odd seeds want as many chips as live, even ones twice as many. */
  static BenchProblem faults(long seed) {
    SplittableRandom random = random("torus-faults", seed);
    TpuTopology topology = TpuTopology.torus(16, 16, 16);
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, topology);
    Set<Integer> dead = new HashSet<>();
    while (dead.size() < DEAD_HOSTS) {
      int host = random.nextInt(topology.hostCount());
      if (dead.add(host)) {
        fleet.health(Churn.POD, new Part.Host(new HostId(host)), Health.FAILED);
      }
    }
    Set<Part> links = new HashSet<>();
    while (links.size() < DEAD_LINKS) {
      Part link =
          new Part.Link(
              topology.chip(random.nextInt(topology.chipCount())),
              Axis.values()[random.nextInt(3)]);
      if (links.add(link)) {
        fleet.health(Churn.POD, link, Health.FAILED);
      }
    }
    long live = topology.chipCount() - DEAD_HOSTS * (long) topology.hostTile().chips();
    double share = Math.floorMod(seed, 2) == 1 ? 1.0 : 2.0;
    return new BenchProblem(
        "torus-faults", seed, fleet.build(), until(share * live, Mix.TORUS, random));
  }

  /** Odd seeds: 24x24x24; even ones: 30x17x13; empty, requests until demand is 1.1 of the pod. */
  static BenchProblem odd(long seed) {
    TpuTopology topology =
        (Math.floorMod(seed, 2) == 1
                ? TpuTopology.torusBuilder(24, 24, 24)
                : TpuTopology.torusBuilder(30, 17, 13))
            .hostTile(Shape.of(1, 1, 1))
            .build();
    return new BenchProblem(
        "odd",
        seed,
        one(topology),
        until(OVER * topology.chipCount(), Mix.ODD, random("odd", seed)));
  }

  /** 16x20x28 cut at random, along host boundaries, into boxes; the boxes are what is wanted. */
  static BenchProblem tight(long seed) {
    SplittableRandom random = random("tight", seed);
    List<Shape> boxes = new ArrayList<>();
    cut(torus().dims(), torus().hostTile(), random, boxes);
    for (int i = boxes.size() - 1; i > 0; i--) {
      Collections.swap(boxes, i, random.nextInt(i + 1));
    }
    List<SliceRequest> requests = new ArrayList<>();
    for (Shape box : boxes) {
      requests.add(want(requests.size(), box));
    }
    return new BenchProblem("tight", seed, one(torus()), requests);
  }

  private static void cut(Shape box, Shape tile, RandomGenerator random, List<Shape> out) {
    List<Axis> axes = new ArrayList<>();
    for (Axis axis : Axis.values()) {
      if (box.get(axis) > tile.get(axis)) {
        axes.add(axis);
      }
    }
    boolean small = box.chips() <= SMALL || box.chips() <= BIG && random.nextInt(5) == 0;
    if (axes.isEmpty() || small) {
      out.add(box);
      return;
    }
    Axis axis = axes.get(random.nextInt(axes.size()));
    int cells = box.get(axis) / tile.get(axis);
    int at = tile.get(axis) * (1 + random.nextInt(cells - 1));
    cut(with(box, axis, at), tile, random, out);
    cut(with(box, axis, box.get(axis) - at), tile, random, out);
  }

  private static Shape with(Shape box, Axis axis, int extent) {
    return Shape.of(
        axis == Axis.X ? extent : box.x(),
        axis == Axis.Y ? extent : box.y(),
        axis == Axis.Z ? extent : box.z());
  }
}
