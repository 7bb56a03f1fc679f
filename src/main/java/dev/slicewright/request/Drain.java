package dev.slicewright.request;

import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A part of the fleet to be emptied: nothing new is placed there, no move goes there, and what runs
 * there and may move or leave does so, as far as that does not cost running chips elsewhere or
 * wanted ones. Immutable, safe to share.
 *
 * <p>A slice that may be evicted earns nothing while it stays, so it leaves where it cannot move;
 * one that may only be moved stays where there is no other place for it. That the pod and its hosts
 * or cubes exist is checked when a plan is made.
 */
public sealed interface Drain {

  /**
   * When it should be empty; later is better than never, so the plan does the same without it, but
   * names what is not out in time.
   *
   * @return the time, or empty for none; not before the rules' now
   */
  default Optional<Instant> by() {
    return Optional.ofNullable(deadline());
  }

  /**
   * When it should be empty.
   *
   * @return the time, or null for none
   */
  @Nullable Instant deadline();

  /**
   * The same part with another deadline.
   *
   * @param deadline the time, or null for none
   * @return a changed copy
   */
  Drain by(@Nullable Instant deadline);

  /**
   * A whole pod. Immutable, safe to share.
   *
   * @param pod its id
   * @param deadline when it should be empty, or null
   */
  record OfPod(String pod, @Nullable Instant deadline) implements Drain {
    /** Checks for null. */
    public OfPod {
      Objects.requireNonNull(pod, "pod");
    }

    @Override
    public OfPod by(@Nullable Instant value) {
      return new OfPod(pod, value);
    }
  }

  /**
   * Hosts of a pod. Immutable, safe to share.
   *
   * @param pod its id
   * @param hosts their numbers, one or more
   * @param deadline when they should be empty, or null
   */
  record OfHosts(String pod, Set<HostId> hosts, @Nullable Instant deadline) implements Drain {
    /** Checks for null and copies the set in order. */
    public OfHosts {
      Objects.requireNonNull(pod, "pod");
      hosts = Collections.unmodifiableSet(new TreeSet<>(hosts));
    }

    @Override
    public OfHosts by(@Nullable Instant value) {
      return new OfHosts(pod, hosts, value);
    }
  }

  /**
   * Cubes of an optical pod. Immutable, safe to share.
   *
   * @param pod its id
   * @param cubes their numbers, one or more
   * @param deadline when they should be empty, or null
   */
  record OfCubes(String pod, Set<CubeId> cubes, @Nullable Instant deadline) implements Drain {
    /** Checks for null and copies the set in order. */
    public OfCubes {
      Objects.requireNonNull(pod, "pod");
      cubes = Collections.unmodifiableSet(new TreeSet<>(cubes));
    }

    @Override
    public OfCubes by(@Nullable Instant value) {
      return new OfCubes(pod, cubes, value);
    }
  }

  /**
   * All pods with a label. Immutable, safe to share.
   *
   * @param key the label
   * @param value its value
   * @param deadline when they should be empty, or null
   */
  record OfLabel(String key, String value, @Nullable Instant deadline) implements Drain {
    /** Checks for null. */
    public OfLabel {
      Objects.requireNonNull(key, "key");
      Objects.requireNonNull(value, "value");
    }

    @Override
    public OfLabel by(@Nullable Instant deadline) {
      return new OfLabel(key, value, deadline);
    }
  }

  /**
   * A whole pod, without a deadline.
   *
   * @param pod its id
   * @return the drain
   */
  static Drain pod(String pod) {
    return new OfPod(pod, null);
  }

  /**
   * Hosts of a pod, without a deadline.
   *
   * @param pod its id
   * @param hosts their numbers, one or more
   * @return the drain
   */
  static Drain hosts(String pod, Collection<HostId> hosts) {
    return new OfHosts(pod, new TreeSet<>(hosts), null);
  }

  /**
   * Cubes of an optical pod, without a deadline.
   *
   * @param pod its id
   * @param cubes their numbers, one or more
   * @return the drain
   */
  static Drain cubes(String pod, Collection<CubeId> cubes) {
    return new OfCubes(pod, new TreeSet<>(cubes), null);
  }

  /**
   * All pods with a label, without a deadline.
   *
   * @param key the label
   * @param value its value
   * @return the drain
   */
  static Drain label(String key, String value) {
    return new OfLabel(key, value, null);
  }
}
