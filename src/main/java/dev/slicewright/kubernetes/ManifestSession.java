package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.json.JsonFactory;

/**
 * One reading of one text. Confined to one thread at a time.
 *
 * <p>Time and memory are linear in the text and in what its aliases stand for, both of which are
 * limited: a part is read at most once as JSON and once as YAML, each time once more if a document
 * with items proves to be no list.
 */
final class ManifestSession {

  private final ManifestLimits limits;
  private final String text;
  private final JsonFactory jsonFactory;
  private final ManifestReading all = new ManifestReading();

  ManifestSession(ManifestLimits limits, String text) {
    this.limits = limits;
    this.text = text;
    this.jsonFactory = JsonEvents.factory(limits);
  }

  KubernetesObjects read() {
    ManifestText parts = new ManifestText(text);
    for (ManifestText.Part part = parts.next(); part != null && !all.isFull; part = parts.next()) {
      read(part);
    }
    if (all.isFull) {
      all.problems.add(
          new Problem(
              "document[" + (all.documents - 1) + "]",
              "expected at most "
                  + limits.maxObjects()
                  + " objects, got more; the rest is not read; raise maxObjects if it is right"));
    }
    if (all.unlisted > 0) {
      all.problems.add(
          new Problem("text", "has " + all.unlisted + " more problems, which are not listed"));
    }
    return KubernetesObjects.of(all.objects, all.problems);
  }

  private void read(ManifestText.Part part) {
    JsonPlace start = JsonPlace.startOf(part, text);
    if (!part.hasContent() && part.isDecoded()) {
      all.documents += part.isExplicit() ? 1 : 0;
    } else if (start.isAtOpening() && part.isDecoded()) {
      json(part, start);
    } else {
      keep(yaml(part));
    }
  }

  /** Takes over what was read; a fault becomes a problem of the document that it ended. */
  private void keep(ManifestReading reading) {
    ManifestFault fault = reading.fault;
    if (fault != null) {
      String read = reading.objects.isEmpty() ? "" : "; the objects before it are read";
      reading.add(
          "document[" + (all.documents + reading.documents) + "]",
          fault.sentence() + read,
          all.problems.size(),
          limits);
    }
    reading.documents += fault != null || reading.isFull ? 1 : 0;
    all.add(reading);
  }

  private ManifestReading yaml(ManifestText.Part part) {
    if (part.illegal() != null) {
      ManifestReading nothing = new ManifestReading();
      nothing.fault = part.illegal();
      return nothing;
    }
    return ManifestDocuments.read(
        limits,
        all,
        () -> new YamlEvents(text, part.start(), part.end(), part.line(), limits.maxObjectSize()));
  }

  /**
   * Reads JSON values one after the other, each a document. What JSON does not know may still be
   * YAML in braces: the way that gets further wins.
   */
  private void json(ManifestText.Part part, JsonPlace place) {
    boolean first = true;
    while (!place.isAtEnd() && !all.isFull) {
      JsonEvents[] events = new JsonEvents[1];
      ManifestReading reading =
          ManifestDocuments.read(limits, all, () -> events[0] = new JsonEvents(place, jsonFactory));
      ManifestFault fault = reading.fault;
      if (fault == null) {
        place.advance(events[0].end());
        place.skipBlanks();
      } else {
        ManifestReading other = first ? yaml(part) : null;
        if (other != null && isBetter(other.fault, fault, part.illegal() != null)) {
          keep(other);
          return;
        }
        place.advanceToOpeningLine(fault.offset());
      }
      keep(reading);
      first = false;
    }
  }

  private static boolean isBetter(
      @Nullable ManifestFault yaml, ManifestFault json, boolean isIllegal) {
    if (yaml == null || isIllegal) {
      // A character that no text may have says more than where it came in JSON's way.
      return yaml == null || yaml.isAt(json);
    }
    return yaml.isAfter(json);
  }
}
