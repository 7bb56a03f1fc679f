package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/** Optical cubes. Stateless. */
final class CubeFamilies {

  static final double BUSY = 0.6;
  static final double FLEET_BUSY = 0.85;
  static final int FLEET_PODS = 1_000;
  static final int TENANTS = 20;
  private static final double DEGRADED = 0.08;
  private static final double FAILED_HOSTS = 0.03;
  private static final int HIGH_PERCENT = 30;
  private static final double QUOTA = 1.1;

  private CubeFamilies() {}

  private static long priority(SplittableRandom random) {
    return random.nextInt(100) < HIGH_PERCENT ? 1 : 0;
  }

  private static SliceRequest.Builder request(
      String kind, int number, Shape shape, SplittableRandom random) {
    return SliceRequest.builder(String.format(Locale.ROOT, "%s-%06d", kind, number))
        .shape(shape)
        .priority(priority(random));
  }

  private static void fill(
      Fleet.Builder fleet, TpuTopology topology, BitSet failed, SplittableRandom random) {
    int[] next = {0};
    int cubes = (int) Math.round(BUSY * topology.cubeCount());
    for (RunningSlice slice :
        new CubeFill(topology, failed, random)
            .fill(cubes, Churn.POD, shape -> request("run", next[0]++, shape, random).build())) {
      fleet.running(slice);
    }
  }

  static BenchProblem v5p(long seed) {
    SplittableRandom random = TorusFamilies.random("ocs-v5p", seed);
    TpuTopology topology = TpuTopology.v5p();
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, topology);
    fill(fleet, topology, new BitSet(), random);
    List<SliceRequest> requests = new ArrayList<>();
    while (requests.size() < 200) {
      requests.add(request("want", requests.size(), Mix.CUBES.draw(random), random).build());
    }
    return new BenchProblem("ocs-v5p", seed, fleet.build(), requests);
  }

  /**
   * Busy as v5p, but no running slice on a failed host. Each gang is, with equal chance, one
   * multislice of 2 to 4 slices, or 2 to 4 requests of one slice and a shape and priority each.
   */
  static BenchProblem tpu7x(long seed) {
    SplittableRandom random = TorusFamilies.random("block-7x", seed);
    TpuTopology topology = TpuTopology.tpu7x();
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, topology);
    for (int cube : some(topology.cubeCount(), DEGRADED, random)) {
      fleet.health(Churn.POD, new Part.Cube(new CubeId(cube)), Health.DEGRADED);
    }
    BitSet failed = new BitSet();
    for (int host : some(topology.hostCount(), FAILED_HOSTS, random)) {
      fleet.health(Churn.POD, new Part.Host(new HostId(host)), Health.FAILED);
      for (int cell : topology.cells(new HostId(host))) {
        failed.set(cell);
      }
    }
    fill(fleet, topology, failed, random);
    List<SliceRequest> requests = new ArrayList<>();
    int gangs = 0;
    while (requests.size() < 120) {
      int size = 2 + random.nextInt(3);
      int left = 120 - requests.size();
      if (random.nextBoolean() || left == 1) {
        requests.add(
            request("want", requests.size(), Mix.CUBES.draw(random), random).slices(size).build());
        continue;
      }
      gangs++;
      // The last gang may be cut short, but never to one.
      int members = left <= size + 1 ? Math.min(left, 4) : size;
      for (int i = 0; i < members; i++) {
        requests.add(
            request("want", requests.size(), Mix.CUBES.draw(random), random)
                .gang("gang-" + gangs)
                .build());
      }
    }
    return new BenchProblem("block-7x", seed, fleet.build(), requests);
  }

  private static Set<Integer> some(int of, double share, SplittableRandom random) {
    Set<Integer> out = new HashSet<>();
    while (out.size() < Math.round(share * of)) {
      out.add(random.nextInt(of));
    }
    return out;
  }

  /**
   * Running slices belong to 20 tenants of very different sizes (the k-th has a share like 1/k),
   * requests to all alike, so that the quotas of the small ones bind.
   */
  static BenchProblem thousand(long seed) {
    SplittableRandom random = TorusFamilies.random("fleet-1000", seed);
    TpuTopology topology = TpuTopology.tpu7x();
    Fleet.Builder fleet = Fleet.builder();
    double[] upTo = new double[TENANTS];
    double sum = 0;
    for (int t = 0; t < TENANTS; t++) {
      sum += 1.0 / (t + 1);
      upTo[t] = sum;
    }
    double all = sum;
    long[] used = new long[TENANTS];
    int[] next = {0};
    for (int p = 0; p < FLEET_PODS; p++) {
      String pod = String.format(Locale.ROOT, "block-%04d", p);
      fleet.pod(pod, topology);
      List<RunningSlice> slices =
          new CubeFill(topology, new BitSet(), random)
              .fill(
                  (int) Math.round(FLEET_BUSY * topology.cubeCount()),
                  pod,
                  shape -> {
                    double at = random.nextDouble(all);
                    int tenant = 0;
                    while (upTo[tenant] <= at) {
                      tenant++;
                    }
                    used[tenant] += shape.chips();
                    return request("run", next[0]++, shape, random).tenant(tenant(tenant)).build();
                  });
      slices.forEach(fleet::running);
    }
    PlanningRules.Builder rules = PlanningRules.builder();
    for (int t = 0; t < TENANTS; t++) {
      rules.quota(tenant(t), (long) Math.floor(QUOTA * used[t]));
    }
    List<SliceRequest> requests = new ArrayList<>();
    while (requests.size() < 1_000) {
      requests.add(
          request("want", requests.size(), Mix.CUBES.draw(random), random)
              .tenant(tenant(random.nextInt(TENANTS)))
              .build());
    }
    return new BenchProblem(
        "fleet-1000", seed, fleet.build(), requests, rules.build(), Optional.empty());
  }

  private static String tenant(int number) {
    return String.format(Locale.ROOT, "tenant-%02d", number);
  }
}
