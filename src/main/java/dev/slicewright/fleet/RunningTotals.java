package dev.slicewright.fleet;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * What the running slices of a pod, or of a fleet, add up to. Immutable, safe to share.
 *
 * <p>Two sums make a third ({@link #plus}), so a fleet keeps one for each part of the tree of its
 * pods: after a change of one pod of n, the fleet's own costs O(log n) additions of O(tenants +
 * priorities) each.
 */
public final class RunningTotals {

  /** Nothing runs. */
  static final RunningTotals NONE =
      new RunningTotals(new Owner[0], new long[0], new long[0], new long[0], 0);

  private record Owner(String tenant, String accelerator) implements Comparable<Owner> {
    @Override
    public int compareTo(Owner other) {
      if (this == other) {
        return 0;
      }
      int c = tenant.compareTo(other.tenant);
      return c != 0 ? c : accelerator.compareTo(other.accelerator);
    }
  }

  private final Owner[] owners; // ascending
  private final long[] chips; // by owner
  private final long[] priorities; // ascending
  private final long[] kept; // by priority
  private final int broken;

  private RunningTotals(Owner[] owners, long[] chips, long[] priorities, long[] kept, int broken) {
    this.owners = owners;
    this.chips = chips;
    this.priorities = priorities;
    this.kept = kept;
    this.broken = broken;
  }

  /** The sums of one pod. O(slices of the pod). */
  static RunningTotals of(Pod pod) {
    TreeMap<Owner, Long> chips = new TreeMap<>();
    TreeMap<Long, Long> kept = new TreeMap<>();
    String accelerator = pod.topology().accelerator().name();
    boolean reported = !pod.reportedHealth().isEmpty();
    int broken = 0;
    for (RunningSlice slice : pod.running()) {
      chips.merge(
          new Owner(slice.request().tenant(), accelerator), slice.shape().chips(), Math::addExact);
      boolean hurt = reported && pod.healthOf(slice.footprint()) == Health.FAILED;
      broken += hurt ? 1 : 0;
      if (!slice.leaving()) {
        kept.merge(slice.request().priority(), hurt ? 0 : slice.countedChips(), Math::addExact);
      }
    }
    return new RunningTotals(
        chips.keySet().toArray(new Owner[0]),
        chips.values().stream().mapToLong(Long::longValue).toArray(),
        kept.keySet().stream().mapToLong(Long::longValue).toArray(),
        kept.values().stream().mapToLong(Long::longValue).toArray(),
        broken);
  }

  /** The sum of both. O(tenants + priorities). */
  RunningTotals plus(RunningTotals other) {
    if (owners.length == 0) {
      return other;
    }
    if (other.owners.length == 0) {
      return this;
    }
    Owner[] allOwners = new Owner[owners.length + other.owners.length];
    long[] allChips = new long[allOwners.length];
    int n = 0;
    int i = 0;
    int j = 0;
    while (i < owners.length || j < other.owners.length) {
      int c =
          i == owners.length
              ? 1
              : j == other.owners.length ? -1 : owners[i].compareTo(other.owners[j]);
      allOwners[n] = c <= 0 ? owners[i] : other.owners[j];
      allChips[n++] = Math.addExact(c <= 0 ? chips[i++] : 0, c >= 0 ? other.chips[j++] : 0);
    }
    int m = 0;
    long[] allPriorities = new long[priorities.length + other.priorities.length];
    long[] allKept = new long[allPriorities.length];
    i = 0;
    j = 0;
    while (i < priorities.length || j < other.priorities.length) {
      int c =
          i == priorities.length
              ? 1
              : j == other.priorities.length
                  ? -1
                  : Long.compare(priorities[i], other.priorities[j]);
      allPriorities[m] = c <= 0 ? priorities[i] : other.priorities[j];
      allKept[m++] = Math.addExact(c <= 0 ? kept[i++] : 0, c >= 0 ? other.kept[j++] : 0);
    }
    return new RunningTotals(
        Arrays.copyOf(allOwners, n),
        Arrays.copyOf(allChips, n),
        Arrays.copyOf(allPriorities, m),
        Arrays.copyOf(allKept, m),
        broken + other.broken);
  }

  /**
   * The chips that a tenant's slices take; those leaving or broken too.
   *
   * @param tenant the tenant; empty for requests without one
   * @param accelerator the accelerator's name in any case, or empty for all
   * @return 0 or more. O(log tenants + accelerators)
   */
  public long chips(String tenant, String accelerator) {
    Objects.requireNonNull(accelerator, "accelerator");
    int at = Arrays.binarySearch(owners, new Owner(Objects.requireNonNull(tenant, "tenant"), ""));
    long sum = 0;
    for (int i = at < 0 ? -at - 1 : at; i < owners.length; i++) {
      if (!owners[i].tenant().equals(tenant)) {
        break;
      }
      if (accelerator.isEmpty() || accelerator.equalsIgnoreCase(owners[i].accelerator())) {
        sum = Math.addExact(sum, chips[i]);
      }
    }
    return sum;
  }

  /**
   * The chips that all slices take; those leaving or broken too.
   *
   * @return 0 or more. O(tenants)
   */
  public long chips() {
    long sum = 0;
    for (long some : chips) {
      sum = Math.addExact(sum, some);
    }
    return sum;
  }

  /**
   * By priority: what the slices that stay count for ({@link RunningSlice#countedChips}). Broken
   * ones count for nothing; those leaving are left out.
   *
   * @return an unmodifiable map in ascending order
   */
  public Map<Long, Long> countedChips() {
    TreeMap<Long, Long> map = new TreeMap<>();
    for (int i = 0; i < priorities.length; i++) {
      map.put(priorities[i], kept[i]);
    }
    return Collections.unmodifiableMap(map);
  }

  /**
   * The slices that use a failed part; those leaving too.
   *
   * @return 0 or more
   */
  public int broken() {
    return broken;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RunningTotals that
        && Arrays.equals(owners, that.owners)
        && Arrays.equals(chips, that.chips)
        && Arrays.equals(priorities, that.priorities)
        && Arrays.equals(kept, that.kept)
        && broken == that.broken;
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(chips) + Arrays.hashCode(kept);
  }

  @Override
  public String toString() {
    return chips() + " chips, " + countedChips() + " counted by priority, " + broken + " broken";
  }
}
