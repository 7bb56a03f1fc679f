package dev.slicewright.solve;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.PlanningRules.Reserved;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One change, of one kind, that lets a request in; shown by a plan. Immutable, safe to share.
 *
 * <p>Where {@link #smallest()} is true, no change of this kind alone is smaller in the measure of
 * its kind: for one slice all places were looked through. Else it is one that was found; of several
 * slices nothing in it can be left out, as far as the search can tell.
 */
public sealed interface Remedy {

  /**
   * The kinds of remedies, in the order in which equally cheap ones are listed. Immutable, safe to
   * share.
   */
  enum Kind {
    /** {@link Reshape}. */
    RESHAPE,
    /** {@link RaiseQuota}. */
    RAISE_QUOTA,
    /** {@link LowerReserved}. */
    LOWER_RESERVED,
    /** {@link Uncordon}. */
    UNCORDON,
    /** {@link DropHolds}. */
    DROP_HOLDS,
    /** {@link Repair}. */
    REPAIR,
    /** {@link Move}. */
    MOVE,
    /** {@link Evict}. */
    EVICT,
    /** {@link Wait}. */
    WAIT
  }

  /**
   * Which kind it is.
   *
   * @return the kind
   */
  Kind kind();

  /**
   * What it costs what runs, or the request itself, in chip-seconds.
   *
   * @return of moves and evictions what is lost; of waiting, the chips wanted times the seconds;
   *     else 0
   */
  long chipSeconds();

  /**
   * Whether no change of this kind alone is smaller.
   *
   * @return false if it is one that was found
   */
  boolean smallest();

  /**
   * What to do, for people.
   *
   * @return one sentence
   */
  String sentence();

  /**
   * What the plan stands on.
   *
   * @return fleet, request and rules with the change, and the plan
   */
  Change change();

  /**
   * A plan that places the request: of moves and evictions, it does both, and applies to the
   * present fleet; else for the changed fleet.
   *
   * @return the plan, verified
   */
  default Plan plan() {
    return change().plan();
  }

  /**
   * A problem with a change made, and its plan. Immutable, safe to share.
   *
   * @param fleet the fleet with the change; as it is for moves and evictions, which are in the plan
   * @param request the request with the change
   * @param rules the rules with the change
   * @param plan the plan, which places the request
   */
  record Change(Fleet fleet, SliceRequest request, PlanningRules rules, Plan plan) {
    /** Checks for null. */
    public Change {
      Objects.requireNonNull(fleet, "fleet");
      Objects.requireNonNull(request, "request");
      Objects.requireNonNull(rules, "rules");
      Objects.requireNonNull(plan, "plan");
    }
  }

  /**
   * A part of a pod. Immutable, safe to share.
   *
   * @param pod the pod's id
   * @param part the part, or null for the whole pod
   */
  record PodPart(String pod, @Nullable Part part) {
    /** Checks for null. */
    public PodPart {
      Objects.requireNonNull(pod, "pod");
    }
  }

  /**
   * Take another shape: the largest that fits, in chips, of those no larger than the one wanted; if
   * none does, a larger one near it. Immutable, safe to share.
   *
   * @param shape the shape of each slice
   * @param smallest whether no shape between it and the one wanted fits
   * @param sentence what to do
   * @param change what it stands on
   */
  record Reshape(Shape shape, boolean smallest, String sentence, Change change) implements Remedy {
    /** Checks for null. */
    public Reshape {
      Objects.requireNonNull(shape, "shape");
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.RESHAPE;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * One quota raised. Immutable, safe to share.
   *
   * @param quota the quota as it is
   * @param to its chips to be
   * @param by how many more chips than it allows now; that is more than its own figure says where
   *     what runs already exceeds it
   */
  record Raise(Quota quota, long to, long by) {
    /** Checks for null. */
    public Raise {
      Objects.requireNonNull(quota, "quota");
    }
  }

  /**
   * Raise quotas: the fewest chips, all raises added. Immutable, safe to share.
   *
   * @param raises the quotas, one or more
   * @param smallest whether no smaller raise lets it in
   * @param sentence what to do
   * @param change what it stands on
   */
  record RaiseQuota(List<Raise> raises, boolean smallest, String sentence, Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public RaiseQuota {
      raises = List.copyOf(raises);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    /**
     * The chips of all raises.
     *
     * @return 1 or more
     */
    public long chips() {
      return raises.stream().mapToLong(Raise::by).sum();
    }

    @Override
    public Kind kind() {
      return Kind.RAISE_QUOTA;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * One reservation lowered. Immutable, safe to share.
   *
   * @param reserved the reservation as it is
   * @param to its chips to be
   * @param by how many more chips all others may then have
   */
  record Cut(Reserved reserved, long to, long by) {
    /** Checks for null. */
    public Cut {
      Objects.requireNonNull(reserved, "reserved");
    }
  }

  /**
   * Reserve less for others: the fewest chips, all cuts added. Immutable, safe to share.
   *
   * @param cuts the reservations, one or more
   * @param smallest whether no smaller cut lets it in
   * @param sentence what to do
   * @param change what it stands on
   */
  record LowerReserved(List<Cut> cuts, boolean smallest, String sentence, Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public LowerReserved {
      cuts = List.copyOf(cuts);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    /**
     * The chips of all cuts.
     *
     * @return 1 or more
     */
    public long chips() {
      return cuts.stream().mapToLong(Cut::by).sum();
    }

    @Override
    public Kind kind() {
      return Kind.LOWER_RESERVED;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * Lift cordons: the fewest. Immutable, safe to share.
   *
   * @param parts the cordoned parts, or pods
   * @param smallest whether fewer do not do
   * @param sentence what to do
   * @param change what it stands on
   */
  record Uncordon(List<PodPart> parts, boolean smallest, String sentence, Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public Uncordon {
      parts = List.copyOf(parts);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.UNCORDON;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * Drop holds, or let them expire: the fewest. Immutable, safe to share.
   *
   * @param holds the holds
   * @param smallest whether fewer do not do
   * @param sentence what to do
   * @param change what it stands on
   */
  record DropHolds(List<Hold> holds, boolean smallest, String sentence, Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public DropHolds {
      holds = List.copyOf(holds);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.DROP_HOLDS;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * Repair parts that are reported failed, or degraded where the request minds: the fewest parts as
   * they are reported. Immutable, safe to share.
   *
   * @param parts the parts
   * @param smallest whether fewer do not do
   * @param sentence what to do
   * @param change what it stands on
   */
  record Repair(List<PodPart> parts, boolean smallest, String sentence, Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public Repair {
      parts = List.copyOf(parts);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.REPAIR;
    }

    @Override
    public long chipSeconds() {
      return 0;
    }
  }

  /**
   * Move running slices: the fewest chip-seconds, of every way to move that is not ruled out by a
   * slice's own request. Immutable, safe to share.
   *
   * @param moves the moves, whatever the rules permit
   * @param forbidden ids of those requests that the rules do not let move so
   * @param chipSeconds what is lost
   * @param smallest whether less does not do
   * @param sentence what to do
   * @param change what it stands on: the rules permit these moves
   */
  record Move(
      List<dev.slicewright.plan.Move> moves,
      List<String> forbidden,
      long chipSeconds,
      boolean smallest,
      String sentence,
      Change change)
      implements Remedy {
    /** Checks for null and copies the lists. */
    public Move {
      moves = List.copyOf(moves);
      forbidden = List.copyOf(forbidden);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.MOVE;
    }
  }

  /**
   * Evict running requests, as a whole and gangs together: the fewest chip-seconds, whatever their
   * priorities. Immutable, safe to share.
   *
   * @param evictions the evictions, whatever the rules permit
   * @param forbidden ids of those requests that the rules do not let be evicted
   * @param outranking ids of those requests whose priority is no lower than the request's
   * @param chipSeconds what is lost
   * @param smallest whether less does not do
   * @param sentence what to do
   * @param change what it stands on: the rules permit these evictions
   */
  record Evict(
      List<Eviction> evictions,
      List<String> forbidden,
      List<String> outranking,
      long chipSeconds,
      boolean smallest,
      String sentence,
      Change change)
      implements Remedy {
    /** Checks for null and copies the lists. */
    public Evict {
      evictions = List.copyOf(evictions);
      forbidden = List.copyOf(forbidden);
      outranking = List.copyOf(outranking);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.EVICT;
    }
  }

  /**
   * Wait until enough slices have ended, as they are expected to, and holds have expired: the
   * earliest time. Slices without an expected end, and those that end later, stay. Immutable, safe
   * to share.
   *
   * @param until the time; now, where slices that should have ended already are all there is to
   *     wait for
   * @param ending the slices on the chips that the plan then takes
   * @param chipSeconds the chips wanted times the seconds to wait, rounded up
   * @param smallest whether it does not fit earlier
   * @param sentence what to do
   * @param change what it stands on: the fleet without all that has ended by then, now being then
   */
  record Wait(
      Instant until,
      List<SliceId> ending,
      long chipSeconds,
      boolean smallest,
      String sentence,
      Change change)
      implements Remedy {
    /** Checks for null and copies the list. */
    public Wait {
      Objects.requireNonNull(until, "until");
      ending = List.copyOf(ending);
      Objects.requireNonNull(sentence, "sentence");
      Objects.requireNonNull(change, "change");
    }

    @Override
    public Kind kind() {
      return Kind.WAIT;
    }
  }
}
