package dev.slicewright.request;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * The rules of one planning call: quotas, reserved capacity, what may be done to running slices and
 * how much of it, and the time. Immutable, safe to share.
 */
public final class PlanningRules {

  /** No quota, nothing reserved, everything running pinned, now = the epoch. */
  public static final PlanningRules NONE = builder().build();

  /**
   * The most chips of one tenant: running, newly placed, and held. Immutable, safe to share.
   *
   * <p>Where what runs and is held now already exceeds the limit, the limit is raised to that, so
   * that a lowered quota never evicts by itself.
   *
   * @param tenant whose; empty for requests without a tenant
   * @param accelerator of which accelerator, by name in any case; empty for all together
   * @param chips 0 or more
   */
  public record Quota(String tenant, String accelerator, long chips) {
    /** Checks for null and puts the accelerator's name in lower case, as types have it. */
    public Quota {
      Objects.requireNonNull(tenant, "tenant");
      accelerator = accelerator.toLowerCase(Locale.ROOT);
    }
  }

  /**
   * Chips kept for one tenant: in the pods of the selector, the chips of all others stay at or
   * below the usable chips less these. Immutable, safe to share.
   *
   * @param tenant for whom
   * @param podLabels the pods: those with all these labels; empty for all pods
   * @param chips 0 or more
   */
  public record Reserved(String tenant, Map<String, String> podLabels, long chips) {
    /** Checks for null and copies the map in key order. */
    public Reserved {
      Objects.requireNonNull(tenant, "tenant");
      TreeMap<String, String> copy = new TreeMap<>();
      podLabels.forEach(
          (key, value) ->
              copy.put(
                  Objects.requireNonNull(key, "label"),
                  Objects.requireNonNull(value, () -> "value of label " + key)));
      podLabels = Collections.unmodifiableMap(copy);
    }
  }

  /**
   * The most that a plan may disturb. Immutable, safe to share.
   *
   * @param slices moved or evicted slices, 0 or more
   * @param chipSeconds lost chip-seconds, 0 or more
   * @param tenants tenants touched, 0 or more
   */
  public record DisruptionBudget(long slices, long chipSeconds, long tenants) {
    /** Without limit: the default; nothing happens without a {@link Permission} either. */
    public static final DisruptionBudget UNLIMITED =
        new DisruptionBudget(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
  }

  private final List<Quota> quotas;
  private final List<Reserved> reserved;
  private final DisruptionBudget disruption;
  private final Permission defaultPermission;
  private final Map<String, Permission> permissions;
  private final VictimRules victims;
  private final List<Drain> drains;
  private final List<RoomGoal> rooms;
  private final Instant now;

  private PlanningRules(Builder b) {
    this.quotas = List.copyOf(b.quotas);
    this.reserved = List.copyOf(b.reserved);
    this.disruption = b.disruption;
    this.defaultPermission = b.defaultPermission;
    this.permissions = Collections.unmodifiableMap(new TreeMap<>(b.permissions));
    this.victims = b.victims;
    this.drains = List.copyOf(b.drains);
    this.rooms = List.copyOf(b.rooms);
    this.now = b.now;
  }

  /**
   * A builder with nothing set.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The quotas.
   *
   * @return an unmodifiable list
   */
  public List<Quota> quotas() {
    return quotas;
  }

  /**
   * The reserved capacity.
   *
   * @return an unmodifiable list
   */
  public List<Reserved> reserved() {
    return reserved;
  }

  /**
   * The most that a plan may disturb.
   *
   * @return the budget
   */
  public DisruptionBudget disruption() {
    return disruption;
  }

  /**
   * What may be done to a running request.
   *
   * @param request its id
   * @return its permission, or the default one
   */
  public Permission permission(String request) {
    Objects.requireNonNull(request, "request");
    return permissions.getOrDefault(request, defaultPermission);
  }

  /**
   * What may be done to running requests that have no permission of their own.
   *
   * @return {@link Permission#PINNED} by default
   */
  public Permission defaultPermission() {
    return defaultPermission;
  }

  /**
   * The permissions by request id.
   *
   * @return an unmodifiable map in key order
   */
  public Map<String, Permission> permissions() {
    return permissions;
  }

  /**
   * Who of those that may be evicted is spared.
   *
   * @return {@link VictimRules#NONE} by default
   */
  public VictimRules victims() {
    return victims;
  }

  /**
   * What is to be emptied.
   *
   * @return an unmodifiable list
   */
  public List<Drain> drains() {
    return drains;
  }

  /**
   * What a plan should leave room for.
   *
   * @return an unmodifiable list
   */
  public List<RoomGoal> rooms() {
    return rooms;
  }

  /**
   * The time for expiries and disruption; the library reads no clock for rules.
   *
   * @return the time, the epoch by default
   */
  public Instant now() {
    return now;
  }

  /**
   * A builder that starts from these rules.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    Builder b = new Builder();
    b.quotas.addAll(quotas);
    b.reserved.addAll(reserved);
    b.disruption = disruption;
    b.defaultPermission = defaultPermission;
    b.permissions.putAll(permissions);
    b.victims = victims;
    b.drains.addAll(drains);
    b.rooms.addAll(rooms);
    b.now = now;
    return b;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PlanningRules that
        && quotas.equals(that.quotas)
        && reserved.equals(that.reserved)
        && disruption.equals(that.disruption)
        && defaultPermission.equals(that.defaultPermission)
        && permissions.equals(that.permissions)
        && victims.equals(that.victims)
        && drains.equals(that.drains)
        && rooms.equals(that.rooms)
        && now.equals(that.now);
  }

  @Override
  public int hashCode() {
    return Objects.hash(
        quotas, reserved, disruption, defaultPermission, permissions, victims, drains, rooms, now);
  }

  @Override
  public String toString() {
    return "PlanningRules[quotas="
        + quotas
        + ", reserved="
        + reserved
        + ", disruption="
        + disruption
        + ", default="
        + defaultPermission
        + ", permissions="
        + permissions
        + (victims.equals(VictimRules.NONE) ? "" : ", victims=" + victims)
        + (drains.isEmpty() ? "" : ", drains=" + drains)
        + (rooms.isEmpty() ? "" : ", rooms=" + rooms)
        + ", now="
        + now
        + "]";
  }

  /** Builds {@link PlanningRules}. Confined to one thread at a time. */
  public static final class Builder {
    private final List<Quota> quotas = new ArrayList<>();
    private final List<Reserved> reserved = new ArrayList<>();
    private DisruptionBudget disruption = DisruptionBudget.UNLIMITED;
    private Permission defaultPermission = Permission.PINNED;
    private final Map<String, Permission> permissions = new TreeMap<>();
    private VictimRules victims = VictimRules.NONE;
    private final List<Drain> drains = new ArrayList<>();
    private final List<RoomGoal> rooms = new ArrayList<>();
    private Instant now = Instant.EPOCH;

    private Builder() {}

    /**
     * Limits a tenant over all accelerators together.
     *
     * @param tenant whose
     * @param chips 0 or more
     * @return this
     */
    public Builder quota(String tenant, long chips) {
      return quota(new Quota(tenant, "", chips));
    }

    /**
     * Adds a quota.
     *
     * @param quota the quota
     * @return this
     */
    public Builder quota(Quota quota) {
      quotas.add(Objects.requireNonNull(quota, "quota"));
      return this;
    }

    /**
     * Adds reserved capacity.
     *
     * @param value for whom, where and how much
     * @return this
     */
    public Builder reserve(Reserved value) {
      reserved.add(Objects.requireNonNull(value, "reserved"));
      return this;
    }

    /**
     * Sets the most that a plan may disturb.
     *
     * @param value the budget
     * @return this
     */
    public Builder disruption(DisruptionBudget value) {
      disruption = Objects.requireNonNull(value, "disruption");
      return this;
    }

    /**
     * Sets what may be done to running requests that have no permission of their own.
     *
     * @param value {@link Permission#PINNED} by default
     * @return this
     */
    public Builder permitByDefault(Permission value) {
      defaultPermission = Objects.requireNonNull(value, "permission");
      return this;
    }

    /**
     * Sets what may be done to one running request.
     *
     * @param request its id
     * @param value the permission
     * @return this
     */
    public Builder permit(String request, Permission value) {
      permissions.put(
          Objects.requireNonNull(request, "request"), Objects.requireNonNull(value, "permission"));
      return this;
    }

    /**
     * Sets all quotas anew.
     *
     * @param values in place of those set before
     * @return this
     */
    public Builder quotas(List<Quota> values) {
      List<Quota> copy = List.copyOf(values);
      quotas.clear();
      quotas.addAll(copy);
      return this;
    }

    /**
     * Sets all reserved capacity anew.
     *
     * @param values in place of what was set before
     * @return this
     */
    public Builder reserved(List<Reserved> values) {
      List<Reserved> copy = List.copyOf(values);
      reserved.clear();
      reserved.addAll(copy);
      return this;
    }

    /**
     * Sets who of those that may be evicted is spared.
     *
     * @param value {@link VictimRules#NONE} by default
     * @return this
     */
    public Builder victims(VictimRules value) {
      victims = Objects.requireNonNull(value, "victims");
      return this;
    }

    /**
     * Adds a part of the fleet to be emptied.
     *
     * @param value the part
     * @return this
     */
    public Builder drain(Drain value) {
      drains.add(Objects.requireNonNull(value, "drain"));
      return this;
    }

    /**
     * Drops all drains and room goals set before.
     *
     * @return this
     */
    public Builder withoutGoals() {
      drains.clear();
      rooms.clear();
      return this;
    }

    /**
     * Adds room that a plan should leave, worth its chips.
     *
     * @param like for a request like this; its id must be no other's
     * @param times how often, 1 or more
     * @return this
     * @throws InvalidInputException if the number is out of range, or the request is in a gang
     */
    public Builder room(SliceRequest like, int times) {
      return room(new RoomGoal(like, times, 0));
    }

    /**
     * Adds room that a plan should leave.
     *
     * @param value for what, how often, and what it is worth
     * @return this
     */
    public Builder room(RoomGoal value) {
      rooms.add(Objects.requireNonNull(value, "room"));
      return this;
    }

    /**
     * Sets the time.
     *
     * @param value now
     * @return this
     */
    public Builder now(Instant value) {
      now = Objects.requireNonNull(value, "now");
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the rules
     * @throws InvalidInputException listing every problem
     */
    public PlanningRules build() {
      Problems problems = new Problems();
      HashSet<List<String>> seen = new HashSet<>();
      for (int i = 0; i < quotas.size(); i++) {
        Quota q = quotas.get(i);
        if (q.chips() < 0) {
          problems.add(
              "quotas[" + i + "].chips",
              "expected 0 or more, but was " + q.chips() + "; 0 allows nothing, no quota anything");
        }
        if (!seen.add(List.of(q.tenant(), q.accelerator()))) {
          problems.add(
              "quotas[" + i + "]",
              "expected one quota of tenant \""
                  + q.tenant()
                  + "\" for "
                  + (q.accelerator().isEmpty() ? "all accelerators" : q.accelerator())
                  + ", but there are two; keep one");
        }
      }
      for (int i = 0; i < reserved.size(); i++) {
        if (reserved.get(i).chips() < 0) {
          problems.add(
              "reserved[" + i + "].chips",
              "expected 0 or more, but was " + reserved.get(i).chips() + "; drop it for none");
        }
      }
      checkLimit(problems, "disruption.slices", disruption.slices());
      checkLimit(problems, "disruption.chipSeconds", disruption.chipSeconds());
      checkLimit(problems, "disruption.tenants", disruption.tenants());
      checkPermission(problems, "defaultPermission", defaultPermission);
      permissions.forEach((request, p) -> checkPermission(problems, "permissions." + request, p));
      for (int i = 0; i < drains.size(); i++) {
        checkDrain(problems, "drains[" + i + "]", drains.get(i));
      }
      HashSet<String> phantoms = new HashSet<>();
      long slices = 0;
      for (int i = 0; i < rooms.size(); i++) {
        RoomGoal goal = rooms.get(i);
        slices += (long) goal.times() * goal.like().slices();
        if (slices > SliceRequest.MAX_SLICES) {
          problems.add(
              "rooms[" + i + "]",
              "expected at most "
                  + SliceRequest.MAX_SLICES
                  + " slices over all room goals, but with this one there are "
                  + slices
                  + "; ask for fewer");
          break;
        }
        for (String id : goal.ids()) {
          if (!phantoms.add(id)) {
            problems.add(
                "rooms[" + i + "].like.id",
                "expected an id of its own, but " + id + " is used twice; rename one");
          }
        }
      }
      problems.throwIfAny("planning rules");
      return new PlanningRules(this);
    }

    private void checkDrain(Problems problems, String path, Drain drain) {
      if (drain.deadline() != null && drain.deadline().isBefore(now)) {
        problems.add(
            path + ".by",
            "expected " + now + ", which is now, or later, but was " + drain.deadline());
      }
      boolean empty =
          drain instanceof Drain.OfHosts hosts && hosts.hosts().isEmpty()
              || drain instanceof Drain.OfCubes cubes && cubes.cubes().isEmpty();
      if (empty) {
        problems.add(path, "expected one host or cube or more, but there is none; drop it");
      }
    }

    private static void checkLimit(Problems problems, String path, long value) {
      if (value < 0) {
        problems.add(
            path, "expected 0 or more, but was " + value + "; Long.MAX_VALUE is without limit");
      }
    }

    private static void checkPermission(Problems problems, String path, Permission permission) {
      if (permission.withinPod() && !permission.move()) {
        problems.add(
            path,
            "expected withinPod only where moves are allowed, but was "
                + permission
                + "; allow moves or drop withinPod");
      }
    }
  }
}
