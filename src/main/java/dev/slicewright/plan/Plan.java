package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.request.PlanningRules;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The answer to one planning call. Immutable, safe to share.
 *
 * <p>Every request is either placed as a whole or listed as {@linkplain #unplaced() unplaced} with
 * a reason. Requests keep the order in which they were given.
 */
public final class Plan {

  private final Builder b;
  private final Map<String, RequestPlacement> byRequest;

  private Plan(Builder b) {
    this.b = b;
    Map<String, RequestPlacement> map = new LinkedHashMap<>();
    for (RequestPlacement placement : b.placements) {
      map.put(placement.request().id(), placement);
    }
    this.byRequest = Collections.unmodifiableMap(map);
  }

  /**
   * A builder. Plans come from the planner; build one only to test, to read one back, or to have a
   * plan of your own verified.
   *
   * @param fleetVersion the version of the fleet that it is made from
   * @param rules the rules that it keeps
   * @return a new builder
   */
  public static Builder builder(long fleetVersion, PlanningRules rules) {
    return new Builder(fleetVersion, rules);
  }

  /**
   * The version of the fleet that it was made from.
   *
   * @return the version
   */
  public long fleetVersion() {
    return b.fleetVersion;
  }

  /**
   * The rules that it keeps.
   *
   * @return the rules
   */
  public PlanningRules rules() {
    return b.rules;
  }

  /**
   * The placed requests, in the order given.
   *
   * @return an unmodifiable list
   */
  public List<RequestPlacement> placements() {
    return b.placements;
  }

  /**
   * Where a request goes.
   *
   * @param request the request's id
   * @return its placement, or empty if it is not placed
   */
  public Optional<RequestPlacement> placement(String request) {
    return Optional.ofNullable(byRequest.get(Objects.requireNonNull(request, "request")));
  }

  /**
   * The running slices that move, by id.
   *
   * @return an unmodifiable list
   */
  public List<Move> moves() {
    return b.moves;
  }

  /**
   * The running requests that leave, by id.
   *
   * @return an unmodifiable list
   */
  public List<Eviction> evictions() {
    return b.evictions;
  }

  /**
   * The requests that are not placed, in the order given.
   *
   * @return an unmodifiable list
   */
  public List<Unplaced> unplaced() {
    return b.unplaced;
  }

  /**
   * The running slices that use failed parts and stay, by id.
   *
   * @return an unmodifiable list
   */
  public List<BrokenSlice> broken() {
    return b.broken;
  }

  /**
   * The running slices that are not out of drained parts in time, by id.
   *
   * @return an unmodifiable list
   */
  public List<Staying> staying() {
    return b.staying;
  }

  /**
   * Where there is room as the rules' goals ask, in their order, once the plan is applied. Nothing
   * comes to run there: {@link #applyTo} passes over it.
   *
   * @return a placement of each phantom that has room; its request has the priority {@link
   *     dev.slicewright.request.RoomGoal#PRIORITY}. An unmodifiable list
   */
  public List<RequestPlacement> room() {
    return b.room;
  }

  /**
   * Holds the {@linkplain #room() room} that the plan leaves, each part for the id of its phantom:
   * a later request of that id is placed there, others are not. A hold that the same phantom has on
   * the same place is renewed; holds that have expired at the rules' now are dropped.
   *
   * @param fleet a fleet to which this plan has been applied
   * @param expiry when the holds end
   * @return the fleet with a hold for every slice of the room, its id {@code room} and the slice
   * @throws dev.slicewright.InvalidInputException if chips of the room are not free, or held
   */
  public Fleet holdRoom(Fleet fleet, Instant expiry) {
    Objects.requireNonNull(expiry, "expiry");
    Fleet out = fleet.dropExpiredHolds(b.rules.now());
    for (RequestPlacement request : b.room) {
      for (Placement slice : request.slices()) {
        String id = "room " + slice.id();
        out = out.hold(id).isPresent() ? out.dropHold(id) : out;
        out =
            out.hold(new Hold(id, slice.pod(), slice.footprint(), request.request().id(), expiry));
      }
    }
    return out;
  }

  /**
   * How good it is, level by level.
   *
   * @return the score
   */
  public Score score() {
    return b.score;
  }

  /**
   * The distance from the best plan: that of the first level that is not proved.
   *
   * @return 0.0 if it is proved optimal
   */
  public double gap() {
    return b.score.gap();
  }

  /**
   * Why the solve stopped.
   *
   * @return the reason
   */
  public StopReason stopped() {
    return b.stopped;
  }

  /**
   * The engines that took part, in the order in which they did.
   *
   * @return an unmodifiable list, for example {@code search}, {@code cp-sat}
   */
  public List<String> engines() {
    return b.engines;
  }

  /**
   * What a reader should know beyond the figures, for example that native solvers could not be
   * loaded, or that the deadline cut in and a second run may differ.
   *
   * @return an unmodifiable list of sentences
   */
  public List<String> notes() {
    return b.notes;
  }

  /**
   * Time and size by phase.
   *
   * @return an unmodifiable list in order
   */
  public List<Phase> phases() {
    return b.phases;
  }

  /**
   * The wall time of the whole call.
   *
   * @return the time
   */
  public Duration time() {
    return b.time;
  }

  /**
   * The fleet after this plan: evicted slices gone, moved slices moved, placed slices running, the
   * holds of placed requests ended.
   *
   * <p>The fleet may be newer than the one planned for; that is fine as long as nothing that the
   * plan needs has changed. O(chips of the plan's slices, log of the fleet).
   *
   * @param fleet the present fleet
   * @return the changed fleet
   * @throws StalePlanException naming every conflict
   */
  public Fleet applyTo(Fleet fleet) {
    return PlanApplication.apply(this, fleet);
  }

  /**
   * A builder that starts from this plan.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    Builder copy = new Builder(b.fleetVersion, b.rules);
    copy.placements.addAll(b.placements);
    copy.moves.addAll(b.moves);
    copy.evictions.addAll(b.evictions);
    copy.unplaced.addAll(b.unplaced);
    copy.broken.addAll(b.broken);
    copy.staying.addAll(b.staying);
    copy.room.addAll(b.room);
    copy.score = b.score;
    copy.stopped = b.stopped;
    copy.engines.addAll(b.engines);
    copy.notes.addAll(b.notes);
    copy.phases.addAll(b.phases);
    copy.time = b.time;
    return copy;
  }

  /** Compares everything but times: neither {@link #phases} nor {@link #time} count. */
  @Override
  public boolean equals(Object other) {
    return this == other || other instanceof Plan that && b.key().equals(that.b.key());
  }

  @Override
  public int hashCode() {
    return b.key().hashCode();
  }

  @Override
  public String toString() {
    return "Plan["
        + b.placements.size()
        + " placed, "
        + b.unplaced.size()
        + " unplaced, "
        + b.moves.size()
        + " moves, "
        + b.evictions.size()
        + " evictions, value "
        + b.score.values()
        + ", bound "
        + b.score.bounds()
        + ", "
        + b.stopped
        + "]";
  }

  /** Builds a {@link Plan}. Confined to one thread at a time. */
  public static final class Builder {
    private final long fleetVersion;
    private final PlanningRules rules;
    private List<RequestPlacement> placements = new ArrayList<>();
    private List<Move> moves = new ArrayList<>();
    private List<Eviction> evictions = new ArrayList<>();
    private List<Unplaced> unplaced = new ArrayList<>();
    private List<BrokenSlice> broken = new ArrayList<>();
    private List<Staying> staying = new ArrayList<>();
    private List<RequestPlacement> room = new ArrayList<>();
    private Score score = new Score(List.of());
    private StopReason stopped = StopReason.EXHAUSTED;
    private List<String> engines = new ArrayList<>();
    private List<String> notes = new ArrayList<>();
    private List<Phase> phases = new ArrayList<>();
    private Duration time = Duration.ZERO;

    private Builder(long fleetVersion, PlanningRules rules) {
      this.fleetVersion = fleetVersion;
      this.rules = Objects.requireNonNull(rules, "rules");
    }

    private List<Object> key() {
      return List.of(
          fleetVersion,
          rules,
          placements,
          moves,
          evictions,
          unplaced,
          broken,
          staying,
          room,
          score,
          stopped,
          engines,
          notes);
    }

    /**
     * Adds a placed request.
     *
     * @param value where it goes
     * @return this
     */
    public Builder placement(RequestPlacement value) {
      placements.add(Objects.requireNonNull(value, "placement"));
      return this;
    }

    /**
     * Adds a move.
     *
     * @param value the move
     * @return this
     */
    public Builder move(Move value) {
      moves.add(Objects.requireNonNull(value, "move"));
      return this;
    }

    /**
     * Adds an eviction.
     *
     * @param value the eviction
     * @return this
     */
    public Builder eviction(Eviction value) {
      evictions.add(Objects.requireNonNull(value, "eviction"));
      return this;
    }

    /**
     * Adds a request that is not placed.
     *
     * @param value the request and why
     * @return this
     */
    public Builder unplaced(Unplaced value) {
      unplaced.add(Objects.requireNonNull(value, "unplaced"));
      return this;
    }

    /**
     * Adds a broken slice that stays.
     *
     * @param value the slice and why
     * @return this
     */
    public Builder broken(BrokenSlice value) {
      broken.add(Objects.requireNonNull(value, "broken"));
      return this;
    }

    /**
     * Adds a slice that is not out of a drained part in time.
     *
     * @param value the slice and why
     * @return this
     */
    public Builder staying(Staying value) {
      staying.add(Objects.requireNonNull(value, "staying"));
      return this;
    }

    /**
     * Adds room for a phantom.
     *
     * @param value where it is
     * @return this
     */
    public Builder room(RequestPlacement value) {
      room.add(Objects.requireNonNull(value, "room"));
      return this;
    }

    /**
     * Sets the score.
     *
     * @param value the score
     * @return this
     */
    public Builder score(Score value) {
      score = Objects.requireNonNull(value, "score");
      return this;
    }

    /**
     * Sets why the solve stopped.
     *
     * @param value the reason
     * @return this
     */
    public Builder stopped(StopReason value) {
      stopped = Objects.requireNonNull(value, "stopped");
      return this;
    }

    /**
     * Adds an engine that took part.
     *
     * @param value its name
     * @return this
     */
    public Builder engine(String value) {
      if (!engines.contains(value)) {
        engines.add(Objects.requireNonNull(value, "engine"));
      }
      return this;
    }

    /**
     * Adds a sentence that a reader should know.
     *
     * @param value the sentence
     * @return this
     */
    public Builder note(String value) {
      notes.add(Objects.requireNonNull(value, "note"));
      return this;
    }

    /**
     * Adds a phase.
     *
     * @param value its time and size
     * @return this
     */
    public Builder phase(Phase value) {
      phases.add(Objects.requireNonNull(value, "phase"));
      return this;
    }

    /**
     * Sets the wall time of the whole call.
     *
     * @param value the time
     * @return this
     */
    public Builder time(Duration value) {
      time = Objects.requireNonNull(value, "time");
      return this;
    }

    /**
     * Builds. Whether the plan is right is {@link PlanVerifier}'s to say.
     *
     * @return the plan
     */
    public Plan build() {
      Builder frozen = new Builder(fleetVersion, rules);
      frozen.placements = List.copyOf(placements);
      frozen.moves = List.copyOf(moves);
      frozen.evictions = List.copyOf(evictions);
      frozen.unplaced = List.copyOf(unplaced);
      frozen.broken = List.copyOf(broken);
      frozen.staying = List.copyOf(staying);
      frozen.room = List.copyOf(room);
      frozen.score = score;
      frozen.stopped = stopped;
      frozen.engines = List.copyOf(engines);
      frozen.notes = List.copyOf(notes);
      frozen.phases = List.copyOf(phases);
      frozen.time = time;
      return new Plan(frozen);
    }
  }
}
