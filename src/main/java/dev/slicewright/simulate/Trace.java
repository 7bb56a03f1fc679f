package dev.slicewright.simulate;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.SliceRequest;
import java.io.IOException;
import java.io.Reader;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * What happens to a fleet: requests that arrive, stay and end, and parts that fail and are
 * repaired. Immutable, safe to share.
 *
 * @param arrivals by time; those at the same time as given
 * @param changes by time; those at the same time as given
 */
public record Trace(List<Arrival> arrivals, List<Change> changes) {

  /** The latest time, and the longest stay and patience: 100,000 days. */
  public static final Duration MAX_TIME = Duration.ofDays(100_000);

  /**
   * A request that arrives. Immutable, safe to share.
   *
   * @param request what is wanted
   * @param at when, from the start of the trace
   * @param stay how long it runs once it is placed
   * @param patience how long it waits for a place; zero if it is lost at once
   */
  public record Arrival(SliceRequest request, Duration at, Duration stay, Duration patience) {
    /** Checks for null. */
    public Arrival {
      Objects.requireNonNull(request, "request");
      Objects.requireNonNull(at, "at");
      Objects.requireNonNull(stay, "stay");
      Objects.requireNonNull(patience, "patience");
    }
  }

  /** What may happen to a part. Immutable, safe to share. */
  public enum Kind {
    /** It fails: what runs on it breaks. */
    FAIL,
    /** It is healthy again. */
    REPAIR,
    /** Nothing new may use it; what runs stays. */
    CORDON,
    /** It may be used again. */
    UNCORDON
  }

  /**
   * Something that happens to a part. Immutable, safe to share.
   *
   * @param at when, from the start of the trace
   * @param kind what
   * @param pod the part's pod
   * @param part the part
   */
  public record Change(Duration at, Kind kind, String pod, Part part) {
    /** Checks for null. */
    public Change {
      Objects.requireNonNull(at, "at");
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(pod, "pod");
      Objects.requireNonNull(part, "part");
    }
  }

  /**
   * Checks, copies and sorts.
   *
   * @throws InvalidInputException listing every time out of range and every id used twice
   */
  public Trace {
    Problems problems = new Problems();
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < arrivals.size(); i++) {
      Arrival a = arrivals.get(i);
      String path = "arrivals[" + i + "]";
      check(problems, path + ".at", a.at());
      check(problems, path + ".stay", a.stay());
      check(problems, path + ".patience", a.patience());
      if (!ids.add(a.request().id())) {
        problems.add(path + ".request.id", "request id " + a.request().id() + " is used twice");
      }
      if (a.request().gang().isPresent()) {
        problems.add(path + ".request.gang", "expected no gang: requests arrive one by one");
      }
    }
    for (int i = 0; i < changes.size(); i++) {
      check(problems, "changes[" + i + "].at", changes.get(i).at());
    }
    problems.throwIfAny("trace");
    arrivals = arrivals.stream().sorted(Comparator.comparing(Arrival::at)).toList();
    changes = changes.stream().sorted(Comparator.comparing(Change::at)).toList();
  }

  private static void check(Problems problems, String path, Duration value) {
    if (value.isNegative() || value.compareTo(MAX_TIME) > 0) {
      problems.add(path, "expected PT0S to " + MAX_TIME + ", but was " + value);
    }
  }

  /**
   * Writes the trace: {@code {"format": "slicewright/trace", "version": 1, "arrivals": [{"request":
   * {"id": "a", "shape": "4x4x8"}, "at": "PT1H", "stay": "PT2H"}], "changes": [{"at": "PT1H",
   * "kind": "fail", "pod": "p", "host": 17}]}}. The same text for equal traces.
   *
   * @return JSON, one event a line, ended by a line feed
   */
  public String toJson() {
    return TraceText.of(this);
  }

  /**
   * Reads a trace, as {@link #toJson} writes it; what is left out has its default. Needs {@code
   * tools.jackson.core:jackson-databind}, an optional dependency.
   *
   * @param in JSON of at most 256 Mi characters; read to its end, and closed
   * @return the trace
   * @throws IOException if reading fails
   * @throws InvalidInputException listing every problem with its path
   * @throws IllegalStateException if Jackson is not on the class path
   */
  public static Trace read(Reader in) throws IOException {
    Objects.requireNonNull(in, "in");
    try {
      return TraceJson.read(in);
    } catch (NoClassDefFoundError e) {
      throw new IllegalStateException(
          "Reading traces needs Jackson, but its classes were not found: "
              + e.getMessage()
              + ". Add tools.jackson.core:jackson-databind (3.2 or newer) to your dependencies.",
          e);
    }
  }
}
