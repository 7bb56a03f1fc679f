package dev.slicewright.simulate;

import dev.slicewright.fleet.Part;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** A trace as JSON, written without a library. Immutable, safe to share. */
final class TraceText {

  static final String FORMAT = "slicewright/trace";
  static final int VERSION = 1;

  private final StringBuilder out = new StringBuilder();
  private boolean first = true;

  private TraceText() {}

  static String of(Trace trace) {
    String arrivals =
        trace.arrivals().stream().map(TraceText::arrival).collect(Collectors.joining(",\n    "));
    String changes =
        trace.changes().stream().map(TraceText::change).collect(Collectors.joining(",\n    "));
    return "{\n  \"format\": "
        + quote(FORMAT)
        + ",\n  \"version\": "
        + VERSION
        + ",\n  \"arrivals\": ["
        + (arrivals.isEmpty() ? "" : "\n    " + arrivals + "\n  ")
        + "],\n  \"changes\": ["
        + (changes.isEmpty() ? "" : "\n    " + changes + "\n  ")
        + "]\n}\n";
  }

  private static String arrival(Trace.Arrival a) {
    TraceText t = new TraceText();
    t.put("request", request(a.request()));
    t.text("at", a.at().toString()).text("stay", a.stay().toString());
    if (!a.patience().isZero()) {
      t.text("patience", a.patience().toString());
    }
    return t.end();
  }

  private static String request(SliceRequest r) {
    TraceText t = new TraceText().text("id", r.id());
    if (!r.shapes().isEmpty()) {
      t.put("shapes", list(r.shapes().stream().map(Shape::toString).toList()));
    } else {
      t.put("chips", String.valueOf(r.chips()));
    }
    if (r.slices() != 1) {
      t.put("slices", String.valueOf(r.slices()));
    }
    if (r.priority() != 0) {
      t.put("priority", String.valueOf(r.priority()));
    }
    if (!r.tenant().isEmpty()) {
      t.text("tenant", r.tenant());
    }
    if (!r.accelerators().isEmpty()) {
      t.put("accelerators", list(r.accelerators()));
    }
    if (!r.mayTurn()) {
      t.put("mayTurn", "false");
    }
    if (r.healthyOnly()) {
      t.put("healthyOnly", "true");
    }
    if (r.interconnect() != Interconnect.ANY) {
      t.text("interconnect", r.interconnect().name().toLowerCase(Locale.ROOT));
    }
    if (!r.requiredLabels().isEmpty()) {
      TraceText labels = new TraceText();
      r.requiredLabels().entrySet().stream()
          .sorted(Map.Entry.comparingByKey())
          .forEach(e -> labels.text(e.getKey(), e.getValue()));
      t.put("requireLabels", labels.end());
    }
    if (!r.forbiddenLabels().isEmpty()) {
      TraceText labels = new TraceText();
      r.forbiddenLabels().entrySet().stream()
          .sorted(Map.Entry.comparingByKey())
          .forEach(e -> labels.put(e.getKey(), list(e.getValue().stream().sorted().toList())));
      t.put("forbidLabels", labels.end());
    }
    r.pod().ifPresent(pod -> t.text("pod", pod));
    switch (r.spread().kind()) {
      case ANY -> {}
      case SAME_POD -> t.text("spread", "same-pod");
      case DIFFERENT_PODS -> t.text("spread", "different-pods");
      case AT_MOST -> t.put("spread", spread(r.spread()));
    }
    return t.end();
  }

  private static String spread(Spread spread) {
    TraceText t = new TraceText().put("atMost", String.valueOf(spread.max()));
    return (spread.label().isEmpty() ? t : t.text("label", spread.label())).end();
  }

  private static String change(Trace.Change c) {
    TraceText t =
        new TraceText()
            .text("at", c.at().toString())
            .text("kind", c.kind().name().toLowerCase(Locale.ROOT))
            .text("pod", c.pod());
    if (c.part() instanceof Part.Chip chip) {
      t.put("chip", chip(chip.chip()));
    } else if (c.part() instanceof Part.Host host) {
      t.put("host", String.valueOf(host.host().index()));
    } else if (c.part() instanceof Part.Cube cube) {
      t.put("cube", String.valueOf(cube.cube().index()));
    } else if (c.part() instanceof Part.Link link) {
      t.put("link", chip(link.from())).text("axis", axis(link.axis().name()));
    } else if (c.part() instanceof Part.OcsPort port) {
      t.put("ocsPort", String.valueOf(port.index()))
          .put("ofCube", String.valueOf(port.cube().index()))
          .text("axis", axis(port.axis().name()))
          .put("positive", String.valueOf(port.positive()));
    }
    return t.end();
  }

  private static String axis(String name) {
    return name.toLowerCase(Locale.ROOT);
  }

  private static String chip(Chip chip) {
    return "[" + chip.x() + ", " + chip.y() + ", " + chip.z() + "]";
  }

  private static String list(List<String> texts) {
    return texts.stream().map(TraceText::quote).collect(Collectors.joining(", ", "[", "]"));
  }

  private TraceText text(String name, String value) {
    return put(name, quote(value));
  }

  private TraceText put(String name, String value) {
    out.append(first ? "{" : ", ").append(quote(name)).append(": ").append(value);
    first = false;
    return this;
  }

  private String end() {
    return out.append(first ? "{}" : "}").toString();
  }

  static String quote(String text) {
    StringBuilder s = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        s.append('\\').append(c);
      } else if (c < ' ' || Character.isSurrogate(c)) {
        s.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        s.append(c);
      }
    }
    return s.append('"').toString();
  }
}
