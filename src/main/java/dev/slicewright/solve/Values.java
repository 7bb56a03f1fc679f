package dev.slicewright.solve;

import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The value of a solution at every level, and the order of solutions. */
final class Values {
  private Values() {}

  static long[] of(Instance in, Solution solution) {
    long[] values = new long[in.levels.size()];
    Map<Long, Long> kept = kept(in, solution);
    long[] placed = placed(in, solution);
    int p = 0; // levels of placed chips are in the order of the priorities
    for (int l = 0; l < values.length; l++) {
      Level level = in.levels.get(l);
      values[l] =
          switch (level.kind()) {
            case KEPT -> kept.getOrDefault(level.priority(), 0L);
            case PLACED, ROOM -> placed[p++];
            case DRAIN -> drained(in, solution);
            case DISRUPTION -> disruption(in, solution);
            case SHAPE_RANK -> ranks(in, solution);
            case NEW_HOSTS -> newHosts(in, solution);
            case PRICE -> price(in, solution);
          };
    }
    return values;
  }

  /** By priority. */
  private static Map<Long, Long> kept(Instance in, Solution solution) {
    if (in.free.isEmpty()) {
      return in.pinnedKept;
    }
    Map<Long, Long> sums = new HashMap<>(in.pinnedKept);
    for (Instance.Free free : in.free) {
      if (solution.evicted().contains(free.request().id())) {
        continue;
      }
      long sum = sums.getOrDefault(free.request().priority(), 0L);
      for (int i = 0; i < free.slices().size(); i++) {
        RunningSlice slice = free.slices().get(i);
        Solution.Target target = solution.moved().get(slice.id());
        if (target != null) {
          sum = Math.addExact(sum, kept(slice, target.shape()));
        } else {
          sum = Math.addExact(sum, free.keptByStaying(i));
        }
      }
      sums.put(free.request().priority(), sum);
    }
    return sums;
  }

  /** What a moved slice keeps: never more than it has now. */
  static long kept(RunningSlice slice, Shape shape) {
    return Math.min(
        ObjectiveLevels.counted(slice.request(), slice.shape()),
        ObjectiveLevels.counted(slice.request(), shape));
  }

  /** By the number of the priority. */
  private static long[] placed(Instance in, Solution solution) {
    long[] sums = new long[in.priorities.length];
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = solution.placed().get(d);
      if (a != null) {
        Demand demand = in.demands.get(d);
        long gain = demand.choices().get(a.choice()).gain();
        long chips = Math.multiplyExact(gain, (long) demand.request().slices());
        sums[demand.priorityIndex()] = Math.addExact(sums[demand.priorityIndex()], chips);
      }
    }
    return sums;
  }

  private static long drained(Instance in, Solution solution) {
    long sum = in.pinnedDrained;
    for (Instance.Free free : in.free) {
      for (int i = 0; i < free.slices().size(); i++) {
        if (free.drained()[i] > 0
            && !solution.evicted().contains(free.request().id())
            && !solution.moved().containsKey(free.slices().get(i).id())) {
          sum = Math.addExact(sum, free.drained()[i]);
        }
      }
    }
    return sum;
  }

  static long disruption(Instance in, Instance.Free free) {
    long sum = 0;
    for (int i = 0; i < free.slices().size(); i++) {
      sum =
          Math.addExact(
              sum, Disruption.chipSeconds(free.slices().get(i), free.broken()[i], in.rules.now()));
    }
    return sum;
  }

  static boolean disturbed(Instance.Free free, Solution solution) {
    return solution.evicted().contains(free.request().id())
        || free.slices().stream().anyMatch(s -> solution.moved().containsKey(s.id()));
  }

  private static long disruption(Instance in, Solution solution) {
    long sum = 0;
    for (Instance.Free free : in.free) {
      if (disturbed(free, solution)) {
        sum = Math.addExact(sum, disruption(in, free));
      }
    }
    return sum;
  }

  private static long ranks(Instance in, Solution solution) {
    long sum = 0;
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = solution.placed().get(d);
      if (a != null) {
        Demand.Choice choice = in.demands.get(d).choices().get(a.choice());
        for (int pod : a.pods()) {
          long rank = choice.ranks()[choice.placeOf(pod)];
          sum = Math.addExact(sum, Math.multiplyExact(choice.shape().chips(), rank));
        }
      }
    }
    return sum;
  }

  /** Hosts of a moved slice that it does not hold now. */
  static long newHosts(Instance in, RunningSlice slice, Solution.Target target) {
    TpuTopology to = in.pods.get(target.pod()).topology();
    List<HostId> hosts = to.workerHosts(target.shape(), target.footprint());
    if (!in.pods.get(target.pod()).id().equals(slice.pod())) {
      return hosts.size();
    }
    Set<HostId> had = new HashSet<>(to.workerHosts(slice.shape(), slice.footprint()));
    return hosts.stream().filter(h -> !had.contains(h)).count();
  }

  private static long newHosts(Instance in, Solution solution) {
    long sum = 0;
    for (Instance.Free free : in.free) {
      for (RunningSlice slice : free.slices()) {
        Solution.Target target = solution.moved().get(slice.id());
        if (target != null) {
          sum = Math.addExact(sum, newHosts(in, slice, target));
        }
      }
    }
    return sum;
  }

  /** The price of an hour of a slice in a pod. */
  static long price(Instance in, long chips, int pod) {
    return Math.multiplyExact(
        chips,
        in.cost.pricePerChipHourMicros(
            in.pods.get(pod).id(), in.pods.get(pod).topology().accelerator().name()));
  }

  private static long price(Instance in, Solution solution) {
    long sum = 0;
    for (int d = 0; d < in.requests.size(); d++) { // phantoms do not come to run
      Assignment a = solution.placed().get(d);
      if (a != null) {
        long chips = in.demands.get(d).choices().get(a.choice()).shape().chips();
        for (int pod : a.pods()) {
          sum = Math.addExact(sum, price(in, chips, pod));
        }
      }
    }
    for (Instance.Free free : in.free) {
      for (RunningSlice slice : free.slices()) {
        Solution.Target target = solution.moved().get(slice.id());
        if (target != null) {
          sum = Math.addExact(sum, price(in, target.shape().chips(), target.pod()));
        }
      }
    }
    return sum;
  }

  /** Positive if the first is better, level by level. */
  static int compare(List<Level> levels, long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      int c = Long.compare(a[l], b[l]);
      if (c != 0) {
        return levels.get(l).kind().maximise() ? c : -c;
      }
    }
    return 0;
  }
}
