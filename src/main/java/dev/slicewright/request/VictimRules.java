package dev.slicewright.request;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Who of the running requests that may be evicted is spared all the same. Immutable, safe to share.
 *
 * <p>These rules only take away: a request is a victim where its {@link Permission} says evict and
 * every rule here agrees. They say nothing about moves: one that is spared may still be moved, if
 * its permission says so. A request leaves as a whole, so what spares one of its slices spares all.
 *
 * @param belowPriority only requests of a priority strictly below this; null for any
 * @param overQuotaOnly whether only requests of tenants over their quota: for a quota of the tenant
 *     that counts a slice of the request, the chips that run now, before the plan, pass it. A
 *     tenant without a quota is never over it
 * @param coolDown requests with a slice that started less than this before now are spared; so are
 *     those whose start is unknown, unless it is zero, since nobody can tell that it has passed
 * @param mostPerTenant the most requests of one tenant that a plan evicts; {@link Long#MAX_VALUE}
 *     for any number
 * @param protectedRequests ids of requests that are never evicted, running or not
 * @param protectedTenants tenants whose requests are never evicted
 */
public record VictimRules(
    @Nullable Long belowPriority,
    boolean overQuotaOnly,
    Duration coolDown,
    long mostPerTenant,
    Set<String> protectedRequests,
    Set<String> protectedTenants) {

  /** Spares nobody: the default. */
  public static final VictimRules NONE = builder().build();

  /**
   * Checks the components and copies the sets in order.
   *
   * @throws InvalidInputException if the cool-down or the most per tenant is negative
   */
  public VictimRules {
    Objects.requireNonNull(coolDown, "coolDown");
    protectedRequests = Collections.unmodifiableSet(new TreeSet<>(protectedRequests));
    protectedTenants = Collections.unmodifiableSet(new TreeSet<>(protectedTenants));
    Problems problems = new Problems();
    if (coolDown.isNegative()) {
      problems.add(
          "coolDown", "expected 0 or more, but was " + coolDown + "; Duration.ZERO spares nobody");
    }
    if (mostPerTenant < 0) {
      problems.add(
          "mostPerTenant",
          "expected 0 or more, but was " + mostPerTenant + "; Long.MAX_VALUE is without limit");
    }
    problems.throwIfAny("victim rules");
  }

  /**
   * A builder that spares nobody.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Builds {@link VictimRules}. Confined to one thread at a time. */
  public static final class Builder {
    private @Nullable Long belowPriority;
    private boolean overQuotaOnly;
    private Duration coolDown = Duration.ZERO;
    private long mostPerTenant = Long.MAX_VALUE;
    private final Set<String> protectedRequests = new TreeSet<>();
    private final Set<String> protectedTenants = new TreeSet<>();

    private Builder() {}

    /**
     * Spares all requests of a priority or more.
     *
     * @param value the lowest priority that is spared
     * @return this
     */
    public Builder belowPriority(long value) {
      belowPriority = value;
      return this;
    }

    /**
     * Sets whether tenants within their quota are spared.
     *
     * @param value false by default
     * @return this
     */
    public Builder overQuotaOnly(boolean value) {
      overQuotaOnly = value;
      return this;
    }

    /**
     * Spares what has not run for so long.
     *
     * @param value zero or more; zero by default
     * @return this
     */
    public Builder coolDown(Duration value) {
      coolDown = Objects.requireNonNull(value, "coolDown");
      return this;
    }

    /**
     * Sets the most requests of one tenant that a plan evicts.
     *
     * @param value 0 or more; any number by default
     * @return this
     */
    public Builder mostPerTenant(long value) {
      mostPerTenant = value;
      return this;
    }

    /**
     * Spares requests.
     *
     * @param ids their ids
     * @return this
     */
    public Builder protectRequests(Collection<String> ids) {
      protectedRequests.addAll(ids);
      return this;
    }

    /**
     * Spares the requests of tenants.
     *
     * @param tenants the tenants
     * @return this
     */
    public Builder protectTenants(Collection<String> tenants) {
      protectedTenants.addAll(tenants);
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the rules
     * @throws InvalidInputException listing every problem
     */
    public VictimRules build() {
      return new VictimRules(
          belowPriority,
          overQuotaOnly,
          coolDown,
          mostPerTenant,
          protectedRequests,
          protectedTenants);
    }
  }
}
