package dev.slicewright.simulate;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.simulate.Trace.Arrival;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.simulate.Trace.Kind;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.io.IOException;
import java.io.Reader;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads a trace. The only class of this package that names Jackson. Confined to one thread at a
 * time.
 */
final class TraceJson {

  private static final long MAX_LENGTH = 256L << 20;

  private final Problems problems = new Problems();

  private TraceJson() {}

  static Trace read(Reader in) throws IOException {
    JsonNode root;
    try (in) {
      JsonFactory factory =
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxDocumentLength(MAX_LENGTH)
                      .maxNestingDepth(16)
                      .maxStringLength(1 << 16)
                      .maxNumberLength(60)
                      .build())
              .build();
      root =
          JsonMapper.builder(factory)
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
              .build()
              .readTree(in);
    } catch (JacksonIOException e) {
      throw e.getCause();
    } catch (JacksonException e) {
      throw new InvalidInputException(
          "trace",
          "document",
          "expected one JSON document without names that stand twice, but "
              + e.getOriginalMessage());
    }
    return new TraceJson().trace(root);
  }

  private Trace trace(JsonNode root) {
    Set<String> known = new HashSet<>();
    if (isObject(root, "document")) {
      String format = text(root, "format", "", known, "");
      if (!format.equals(TraceText.FORMAT)) {
        problems.add("format", "expected \"" + TraceText.FORMAT + "\", but was \"" + format + "\"");
      }
      long version = whole(root, "version", "", known, 0, Integer.MAX_VALUE, 0);
      if (version != TraceText.VERSION) {
        problems.add("version", "expected " + TraceText.VERSION + ", but was " + version);
      }
    }
    List<Arrival> arrivals = new ArrayList<>();
    each(root, "arrivals", "", known, (n, path) -> arrival(n, path, arrivals));
    List<Change> changes = new ArrayList<>();
    each(root, "changes", "", known, (n, path) -> change(n, path, changes));
    end(root, "", known);
    problems.throwIfAny("trace");
    return new Trace(arrivals, changes);
  }

  private void arrival(JsonNode n, String path, List<Arrival> into) {
    if (!isObject(n, path)) {
      return;
    }
    Set<String> known = new HashSet<>();
    known.add("request");
    SliceRequest request = null;
    if (n.has("request")) {
      request = request(n.get("request"), path + ".request");
    } else {
      problems.add(path + ".request", "is missing; expected an object");
    }
    Duration at = duration(n, "at", path, known, null);
    Duration stay = duration(n, "stay", path, known, null);
    Duration patience = duration(n, "patience", path, known, Duration.ZERO);
    end(n, path, known);
    if (request != null && at != null && stay != null && patience != null) {
      into.add(new Arrival(request, at, stay, patience));
    }
  }

  private @Nullable SliceRequest request(JsonNode n, String path) {
    if (!isObject(n, path)) {
      return null;
    }
    Set<String> known = new HashSet<>();
    int before = problems.list().size();
    SliceRequest.Builder b = SliceRequest.builder(text(n, "id", path, known, ""));
    if (n.has("shape")) {
      shape(b, n.get("shape"), path + ".shape");
      known.add("shape");
    }
    each(n, "shapes", path, known, (s, where) -> shape(b, s, where));
    if (n.has("chips")) {
      b.chips(whole(n, "chips", path, known, 1, 1L << 40, 1));
    }
    b.slices((int) whole(n, "slices", path, known, 1, SliceRequest.MAX_SLICES, 1));
    b.priority(whole(n, "priority", path, known, Long.MIN_VALUE, Long.MAX_VALUE, 0));
    b.tenant(text(n, "tenant", path, known, ""));
    List<String> accelerators = new ArrayList<>();
    each(n, "accelerators", path, known, (s, where) -> accelerators.add(string(s, where)));
    b.accelerators(accelerators.toArray(new String[0]));
    b.mayTurn(flag(n, "mayTurn", path, known, true));
    b.healthyOnly(flag(n, "healthyOnly", path, known, false));
    b.interconnect(word(n, "interconnect", path, known, Interconnect.class, Interconnect.ANY));
    fields(n, "requireLabels", path, known, (k, v, where) -> b.requireLabel(k, string(v, where)));
    fields(
        n,
        "forbidLabels",
        path,
        known,
        (k, v, where) -> elements(v, where, (s, inner) -> b.forbidLabel(k, string(s, inner))));
    b.pod(text(n, "pod", path, known, ""));
    known.add("spread");
    if (n.has("spread")) {
      b.spread(spread(n.get("spread"), path + ".spread"));
    }
    end(n, path, known);
    if (problems.list().size() > before) {
      return null;
    }
    try {
      return b.build();
    } catch (InvalidInputException e) {
      problems.addAll(path, e);
      return null;
    }
  }

  private void shape(SliceRequest.Builder b, JsonNode n, String path) {
    try {
      b.shape(Shape.parse(string(n, path)));
    } catch (InvalidInputException e) {
      problems.add(path, e.problems().get(0).message());
    }
  }

  private Spread spread(JsonNode n, String path) {
    if (n.isString() && n.stringValue().equals("same-pod")) {
      return Spread.samePod();
    }
    if (n.isString() && n.stringValue().equals("different-pods")) {
      return Spread.differentPods();
    }
    if (n.isObject()) {
      Set<String> known = new HashSet<>();
      int most = (int) whole(n, "atMost", path, known, 1, Integer.MAX_VALUE, 1);
      String label = text(n, "label", path, known, "");
      end(n, path, known);
      return Spread.atMost(most, label);
    }
    if (!n.isString() || !n.stringValue().equals("any")) {
      wrong(path, "any, same-pod, different-pods or {atMost, label}", n);
    }
    return Spread.any();
  }

  private void change(JsonNode n, String path, List<Change> into) {
    if (!isObject(n, path)) {
      return;
    }
    Set<String> known = new HashSet<>();
    int before = problems.list().size();
    Duration at = duration(n, "at", path, known, null);
    if (!n.has("kind")) {
      problems.add(path + ".kind", "is missing; expected fail, repair, cordon or uncordon");
    }
    Kind kind = word(n, "kind", path, known, Kind.class, Kind.FAIL);
    String pod = text(n, "pod", path, known, "");
    Part part = part(n, path, known);
    end(n, path, known);
    if (problems.list().size() == before && at != null && part != null) {
      into.add(new Change(at, kind, pod, part));
    }
  }

  private @Nullable Part part(JsonNode n, String path, Set<String> known) {
    int most = Integer.MAX_VALUE;
    int named = 0;
    for (String name : List.of("chip", "host", "cube", "link", "ocsPort")) {
      named += n.has(name) ? 1 : 0;
    }
    if (named != 1) {
      problems.add(path, "expected one of chip, host, cube, link, ocsPort, but were " + named);
      known.addAll(List.of("chip", "host", "cube", "link", "ocsPort", "axis", "ofCube"));
      known.add("positive");
      return null;
    }
    if (n.has("host")) {
      return new Part.Host(new HostId((int) whole(n, "host", path, known, 0, most, 0)));
    }
    if (n.has("cube")) {
      return new Part.Cube(new CubeId((int) whole(n, "cube", path, known, 0, most, 0)));
    }
    if (n.has("chip")) {
      return new Part.Chip(chip(n, "chip", path, known));
    }
    Axis axis = word(n, "axis", path, known, Axis.class, Axis.X);
    if (n.has("link")) {
      return new Part.Link(chip(n, "link", path, known), axis);
    }
    return new Part.OcsPort(
        new CubeId((int) whole(n, "ofCube", path, known, 0, most, 0)),
        axis,
        flag(n, "positive", path, known, true),
        (int) whole(n, "ocsPort", path, known, 0, 15, 0));
  }

  private Chip chip(JsonNode n, String name, String path, Set<String> known) {
    List<Long> at = new ArrayList<>();
    String where = path + "." + name;
    each(n, name, path, known, (e, inner) -> at.add(number(e, inner, 0, Shape.MAX_EXTENT, 0)));
    if (at.size() < 2 || at.size() > 3) {
      problems.add(where, "expected a chip such as [0, 4, 8]");
      return new Chip(0, 0, 0);
    }
    return new Chip(
        at.get(0).intValue(), at.get(1).intValue(), at.size() == 2 ? 0 : at.get(2).intValue());
  }

  // ---------------------------------------------------------------- fields

  private interface Field {
    void read(String name, JsonNode value, String path);
  }

  private static String join(String path, String name) {
    return path.isEmpty() ? name : path + "." + name;
  }

  private void wrong(String path, String expected, JsonNode n) {
    String shown = n.toString();
    problems.add(
        path,
        "expected "
            + expected
            + ", but was "
            + (shown.length() > 60 ? shown.substring(0, 60) + "..." : shown));
  }

  private boolean isObject(JsonNode n, String path) {
    if (!n.isObject()) {
      wrong(path, "an object", n);
    }
    return n.isObject();
  }

  private void each(
      JsonNode n,
      String name,
      String path,
      Set<String> known,
      BiConsumer<JsonNode, String> action) {
    known.add(name);
    JsonNode value = n.get(name);
    if (value == null) {
      return;
    }
    if (value.isArray()) {
      elements(value, join(path, name), action);
    } else {
      wrong(join(path, name), "a list", value);
    }
  }

  private void elements(JsonNode value, String path, BiConsumer<JsonNode, String> action) {
    if (!value.isArray()) {
      action.accept(value, path);
      return;
    }
    int i = 0;
    for (JsonNode element : value) {
      action.accept(element, path + "[" + i++ + "]");
    }
  }

  private void fields(JsonNode n, String name, String path, Set<String> known, Field action) {
    known.add(name);
    JsonNode value = n.get(name);
    if (value != null && isObject(value, join(path, name))) {
      value
          .properties()
          .forEach(e -> action.read(e.getKey(), e.getValue(), join(path, name) + "." + e.getKey()));
    }
  }

  private String text(JsonNode n, String name, String path, Set<String> known, String otherwise) {
    known.add(name);
    return n.has(name) ? string(n.get(name), join(path, name)) : otherwise;
  }

  private String string(JsonNode n, String path) {
    if (n.isString()) {
      return n.stringValue();
    }
    wrong(path, "a string", n);
    return "";
  }

  private boolean flag(JsonNode n, String name, String path, Set<String> known, boolean otherwise) {
    known.add(name);
    JsonNode value = n.get(name);
    if (value != null && !value.isBoolean()) {
      wrong(join(path, name), "true or false", value);
      return otherwise;
    }
    return value == null ? otherwise : value.booleanValue();
  }

  private long whole(
      JsonNode n, String name, String path, Set<String> known, long min, long max, long otherwise) {
    known.add(name);
    return n.has(name) ? number(n.get(name), join(path, name), min, max, otherwise) : otherwise;
  }

  private long number(JsonNode value, String path, long min, long max, long otherwise) {
    if (value.isIntegralNumber()
        && value.canConvertToLong()
        && value.longValue() >= min
        && value.longValue() <= max) {
      return value.longValue();
    }
    wrong(path, "a whole number from " + min + " to " + max, value);
    return otherwise;
  }

  private <E extends Enum<E>> E word(
      JsonNode n, String name, String path, Set<String> known, Class<E> type, E otherwise) {
    known.add(name);
    JsonNode value = n.get(name);
    if (value == null) {
      return otherwise;
    }
    List<String> words = new ArrayList<>();
    for (E constant : type.getEnumConstants()) {
      String word = constant.name().toLowerCase(Locale.ROOT);
      words.add(word);
      if (value.isString() && value.stringValue().equals(word)) {
        return constant;
      }
    }
    wrong(join(path, name), "one of " + String.join(", ", words), value);
    return otherwise;
  }

  private @Nullable Duration duration(
      JsonNode n, String name, String path, Set<String> known, @Nullable Duration otherwise) {
    known.add(name);
    JsonNode value = n.get(name);
    if (value == null) {
      if (otherwise == null) {
        problems.add(join(path, name), "is missing; expected a duration such as PT10M");
      }
      return otherwise;
    }
    if (value.isString() && value.stringValue().length() <= 60) {
      try {
        return Duration.parse(value.stringValue());
      } catch (DateTimeException | ArithmeticException e) {
        // Said below.
      }
    }
    wrong(join(path, name), "a duration such as PT10M", value);
    return null;
  }

  private void end(JsonNode n, String path, Set<String> known) {
    for (String name : n.propertyNames()) {
      if (!known.contains(name)) {
        problems.add(
            join(path, name),
            "is no field of this object; expected "
                + String.join(", ", known.stream().sorted().toList()));
      }
    }
  }
}
