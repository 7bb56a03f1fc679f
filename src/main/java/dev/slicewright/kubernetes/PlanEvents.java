package dev.slicewright.kubernetes;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a plan means for each workload, as Events. Confined to one thread at a time.
 *
 * <p>An event's name follows from its object, request and reason, so that the same thing said again
 * is the same object with a later time.
 */
final class PlanEvents {

  private static final int MAX_MESSAGE = 1024; // bytes, as events.k8s.io has it
  private static final int MAX_NAME = 253;
  private static final String NORMAL = "Normal";
  private static final String WARNING = "Warning";
  private static final String COMPONENT = "slicewright";
  private static final int MOST_PLACES = 8; // named in one message

  private final Cluster cluster;
  private final Plan plan;
  private final PlanPlaces places;
  private final String time;
  private final List<Event> events = new ArrayList<>();

  private PlanEvents(Cluster cluster, Plan plan, PlanPlaces places, Instant now) {
    this.cluster = cluster;
    this.plan = plan;
    this.places = places;
    this.time = now.truncatedTo(ChronoUnit.SECONDS).toString(); // metav1.Time has no fractions
  }

  static List<Event> of(
      Cluster cluster, Plan plan, PlanPlaces places, Map<String, LeftOut> leftOut, Instant now) {
    PlanEvents events = new PlanEvents(cluster, plan, places, now);
    for (RequestPlacement placement : plan.placements()) {
      LeftOut left = leftOut.get(Cluster.wholeId(placement.request().id()));
      if (left == null) {
        events.placed(placement);
      } else {
        events.add(
            NORMAL, camelCase(Reason.GANG_INCOMPLETE), placement.request().id(), left.reason());
      }
    }
    events.moved();
    plan.evictions().forEach(events::evicted);
    UnplacedWords words = new UnplacedWords(cluster, plan);
    for (Unplaced unplaced : plan.unplaced()) {
      events.add(
          unplaced.never() ? WARNING : NORMAL,
          reason(unplaced),
          unplaced.request(),
          words.of(unplaced));
    }
    for (BrokenSlice broken : plan.broken()) {
      events.add(
          WARNING,
          "Broken" + camelCase(broken.reason()),
          broken.slice().id().request(),
          broken.slice().id().toString(),
          "slice "
              + broken.slice().id().index()
              + " on "
              + text(events.places.running(broken.slice()))
              + events.failedNodes(broken.slice())
              + " stays there. "
              + UnplacedWords.operators(broken.sentence()));
    }
    for (Staying staying : plan.staying()) {
      events.add(
          WARNING,
          "Staying" + camelCase(staying.reason()),
          staying.slice().id().request(),
          staying.slice().id().toString(),
          "slice "
              + staying.slice().id().index()
              + " on "
              + text(events.places.running(staying.slice()))
              + " is not out of a drained part in time. "
              + UnplacedWords.operators(staying.sentence()));
    }
    for (LeftOut left : cluster.leftOut()) {
      ObjectRef object = left.object();
      if (WorkKind.of(object.apiVersion(), object.kind()).isPresent()) {
        events.add(WARNING, "LeftOut", object, object.path(), left.reason(), left.reason());
      }
    }
    return List.copyOf(events.events);
  }

  /** Why a request is not placed, for machines: told apart whether it may ever be. */
  static String reason(Unplaced unplaced) {
    return (unplaced.never() ? "Never" : "") + camelCase(unplaced.reason());
  }

  static String camelCase(Reason reason) {
    StringBuilder text = new StringBuilder();
    for (String word : reason.name().split("_", -1)) {
      text.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
    }
    return text.toString();
  }

  private void placed(RequestPlacement placement) {
    List<String> where = new ArrayList<>();
    placement
        .slices()
        .forEach(
            slice -> {
              PlacedSlice place = places.place(slice, true);
              where.add("slice " + place.id().index() + " on " + text(place));
            });
    int n = placement.slices().size();
    String shape = places.place(placement.slices().get(0), true).shape().toString();
    add(
        NORMAL,
        "Placed",
        placement.request().id(),
        "placed " + UnplacedWords.count(n, "slice") + " of " + shape + ": " + joined(where));
  }

  private void moved() {
    Map<String, List<String>> byRequest = new TreeMap<>();
    for (Move move : plan.moves()) {
      PlacedSlice from = places.running(move.from());
      PlacedSlice to = places.place(move.to(), true);
      byRequest
          .computeIfAbsent(move.from().id().request(), request -> new ArrayList<>())
          .add("slice " + to.id().index() + " from " + text(from) + " to " + text(to));
    }
    byRequest.forEach(
        (request, moves) ->
            add(
                NORMAL,
                "Moved",
                request,
                "moves " + UnplacedWords.count(moves.size(), "slice") + ": " + joined(moves)));
  }

  private void evicted(Eviction eviction) {
    List<String> where = new ArrayList<>();
    for (RunningSlice slice : eviction.slices()) {
      where.add("slice " + slice.id().index() + " on " + text(places.running(slice)));
    }
    add(
        WARNING,
        "Evicted",
        eviction.request(),
        "leaves with "
            + UnplacedWords.count(eviction.slices().size(), "slice")
            + why(eviction)
            + ": "
            + joined(where));
  }

  private String why(Eviction eviction) {
    if (eviction.slices().stream().anyMatch(slice -> !failed(slice).isEmpty())) {
      return ", some of whose nodes have failed";
    }
    boolean takes =
        !plan.placements().isEmpty() || !plan.moves().isEmpty() || !plan.room().isEmpty();
    return takes ? ", so that others can be placed" : "";
  }

  private String failedNodes(RunningSlice slice) {
    List<String> failed = failed(slice);
    return failed.isEmpty()
        ? ""
        : ", whose " + (failed.size() == 1 ? "node " : "nodes ") + joined(failed) + " failed,";
  }

  /** The nodes of a slice that have failed; none where a part that is no node has. */
  private List<String> failed(RunningSlice slice) {
    PlacedSlice place = places.running(slice);
    TpuTopology topology = place.domain().topology();
    CellSet failed = cluster.fleet().pod(slice.pod()).orElseThrow().health().failedCells();
    return place.at().hosts().stream()
        .filter(host -> failed.containsAny(topology.cells(host)))
        .map(place::node)
        .toList();
  }

  private static String text(PlacedSlice place) {
    String where = place.domain().id();
    if (place.slice() != null) {
      where += ", Slice " + place.slice().name();
    }
    List<String> ids = place.partitionIds();
    return ids.isEmpty()
        ? where
        : where + " (" + UnplacedWords.count(ids.size(), "partition") + " " + joined(ids) + ")";
  }

  private static String joined(List<String> parts) {
    return parts.size() <= MOST_PLACES
        ? String.join(", ", parts)
        : String.join(", ", parts.subList(0, MOST_PLACES))
            + " and "
            + (parts.size() - MOST_PLACES)
            + " more";
  }

  private void add(String type, String reason, String request, String message) {
    add(type, reason, request, request, message);
  }

  /** An event of a request, or of the one of its slices that {@code of} tells from the others. */
  private void add(String type, String reason, String request, String of, String message) {
    String whole = Cluster.wholeId(request);
    ObjectRef object =
        cluster.workload(whole).map(Workload::object).orElseGet(() -> unknown(whole));
    add(type, reason, object, request, of, message);
  }

  /** What stands for work that is not among the objects: its Slice, where it has one. */
  private static ObjectRef unknown(String request) {
    String slice = SliceManifest.KIND + "//";
    return request.startsWith(slice)
        ? new ObjectRef(
            SliceManifest.API_VERSION, SliceManifest.KIND, "", request.substring(slice.length()))
        : new ObjectRef("", "SliceRequest", "", request);
  }

  private void add(
      String type, String reason, ObjectRef object, String request, String of, String message) {
    String namespace = object.namespace().isEmpty() ? "default" : object.namespace();
    String suffix = "." + Names.digest(object.path() + " " + of + " " + reason);
    String readable = readable(object.name());
    events.add(
        new EventBuilder()
            .withNewMetadata()
            .withNamespace(namespace)
            .withName(
                readable.substring(0, Math.min(readable.length(), MAX_NAME - suffix.length()))
                    + suffix)
            .addToAnnotations(TpuLabels.OWN_REQUEST, request)
            .endMetadata()
            .withNewInvolvedObject()
            .withApiVersion(object.apiVersion())
            .withKind(object.kind())
            .withNamespace(namespace)
            .withName(object.name())
            .endInvolvedObject()
            .withType(type)
            .withReason(reason)
            .withMessage(shortened(message))
            .withFirstTimestamp(time)
            .withLastTimestamp(time)
            .withCount(1)
            .withReportingComponent(COMPONENT)
            .withReportingInstance(COMPONENT)
            .withNewSource()
            .withComponent(COMPONENT)
            .endSource()
            .build());
  }

  /** A name that may begin the name of an object; objects have such names already. */
  private static String readable(String name) {
    String plain =
        name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
    return plain.isEmpty()
        ? COMPONENT
        : name.matches("[a-z0-9]([-.a-z0-9]*[a-z0-9])?") ? name : plain;
  }

  /** At most so many bytes of UTF-8. */
  private static String shortened(String message) {
    int bytes = 0;
    for (int i = 0; i < message.length(); ) {
      int point = message.codePointAt(i);
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (bytes > MAX_MESSAGE) {
        int end = i;
        while (end > 0
            && message.substring(0, end).getBytes(StandardCharsets.UTF_8).length
                > MAX_MESSAGE - 3) {
          end = message.offsetByCodePoints(end, -1);
        }
        return message.substring(0, end) + "…";
      }
      i += Character.charCount(point);
    }
    return message;
  }
}
