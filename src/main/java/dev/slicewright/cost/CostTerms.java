package dev.slicewright.cost;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The preferences of the objective: which count, and the caller's prices. Immutable, safe to share.
 *
 * <p>Preferences come after everything else: they choose among plans that place equally many chips
 * of every priority and disturb equally little.
 */
public final class CostTerms {

  /** The rank of a request's shapes counts; no prices, no care for new hosts. */
  public static final CostTerms DEFAULT = builder().build();

  /** The highest price: 10^12 micro-units a chip-hour. */
  public static final long MAX_PRICE_MICROS = 1_000_000_000_000L;

  private final boolean shapeRank;
  private final boolean newHosts;
  private final Map<String, Long> byAccelerator;
  private final Map<String, Long> byPod;

  private CostTerms(Builder b) {
    this.shapeRank = b.shapeRank;
    this.newHosts = b.newHosts;
    this.byAccelerator = Collections.unmodifiableMap(new TreeMap<>(b.byAccelerator));
    this.byPod = Collections.unmodifiableMap(new TreeMap<>(b.byPod));
  }

  /**
   * A builder with the defaults.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Whether chips times the rank of the shape counts.
   *
   * @return true by default
   */
  public boolean shapeRank() {
    return shapeRank;
  }

  /**
   * Whether hosts that a moved slice did not hold before count.
   *
   * @return false by default
   */
  public boolean newHosts() {
    return newHosts;
  }

  /**
   * Whether any price is set.
   *
   * @return true if price counts
   */
  public boolean hasPrices() {
    return !byAccelerator.isEmpty() || !byPod.isEmpty();
  }

  /**
   * The price of a chip for an hour.
   *
   * @param pod the pod's id; its own price goes first
   * @param accelerator the accelerator's name
   * @return micro-units of the caller's currency, 0 if no price is set
   */
  public long pricePerChipHourMicros(String pod, String accelerator) {
    Long own = byPod.get(pod);
    return own != null ? own : byAccelerator.getOrDefault(accelerator, 0L);
  }

  /**
   * The prices by accelerator.
   *
   * @return an unmodifiable map in name order, in micro-units a chip-hour
   */
  public Map<String, Long> pricesByAccelerator() {
    return byAccelerator;
  }

  /**
   * The prices by pod.
   *
   * @return an unmodifiable map in id order, in micro-units a chip-hour
   */
  public Map<String, Long> pricesByPod() {
    return byPod;
  }

  /**
   * A builder that starts from these terms.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    Builder b = new Builder();
    b.shapeRank = shapeRank;
    b.newHosts = newHosts;
    b.byAccelerator.putAll(byAccelerator);
    b.byPod.putAll(byPod);
    return b;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CostTerms that
        && shapeRank == that.shapeRank
        && newHosts == that.newHosts
        && byAccelerator.equals(that.byAccelerator)
        && byPod.equals(that.byPod);
  }

  @Override
  public int hashCode() {
    return Objects.hash(shapeRank, newHosts, byAccelerator, byPod);
  }

  @Override
  public String toString() {
    return "CostTerms[shapeRank="
        + shapeRank
        + ", newHosts="
        + newHosts
        + ", prices="
        + byAccelerator
        + byPod
        + "]";
  }

  /** Builds {@link CostTerms}. Confined to one thread at a time. */
  public static final class Builder {
    private boolean shapeRank = true;
    private boolean newHosts;
    private final Map<String, Long> byAccelerator = new TreeMap<>();
    private final Map<String, Long> byPod = new TreeMap<>();

    private Builder() {}

    /**
     * Sets whether the rank of the shape counts.
     *
     * @param value true by default
     * @return this
     */
    public Builder shapeRank(boolean value) {
      shapeRank = value;
      return this;
    }

    /**
     * Sets whether a moved slice's new hosts count.
     *
     * @param value false by default
     * @return this
     */
    public Builder newHosts(boolean value) {
      newHosts = value;
      return this;
    }

    /**
     * Sets the price of an accelerator.
     *
     * @param accelerator its name
     * @param micros micro-units of the caller's currency a chip-hour, 0 to {@link
     *     #MAX_PRICE_MICROS}
     * @return this
     */
    public Builder pricePerChipHourMicros(String accelerator, long micros) {
      byAccelerator.put(Objects.requireNonNull(accelerator, "accelerator"), micros);
      return this;
    }

    /**
     * Sets the price of one pod, which goes before its accelerator's.
     *
     * @param pod the pod's id
     * @param micros micro-units of the caller's currency a chip-hour, 0 to {@link
     *     #MAX_PRICE_MICROS}
     * @return this
     */
    public Builder podPricePerChipHourMicros(String pod, long micros) {
      byPod.put(Objects.requireNonNull(pod, "pod"), micros);
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the terms
     * @throws InvalidInputException listing every price out of range
     */
    public CostTerms build() {
      Problems problems = new Problems();
      byAccelerator.forEach((k, v) -> check(problems, "pricesByAccelerator." + k, v));
      byPod.forEach((k, v) -> check(problems, "pricesByPod." + k, v));
      problems.throwIfAny("cost terms");
      return new CostTerms(this);
    }

    private static void check(Problems problems, String path, long micros) {
      if (micros < 0 || micros > MAX_PRICE_MICROS) {
        problems.add(path, "expected 0 to " + MAX_PRICE_MICROS + " micro-units, but was " + micros);
      }
    }
  }
}
