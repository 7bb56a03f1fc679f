package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.ManifestEvents.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.node.StringNode;

/**
 * Makes trees of events: follows aliases, merges mappings, and keeps all of it within limits.
 * Confined to one thread at a time.
 *
 * <p>An alias shares the tree of its anchor, so that time and memory are linear in the text, but
 * its size and depth count where it is used: what is later made of the tree is bounded by them.
 * Trees are therefore never changed. The items of a list document go to a {@link Sink} one by one,
 * so that a list of all the nodes of a cluster never stands in memory as one tree.
 */
final class ManifestTree {

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** What keeping an anchor costs beside its value and name, in fields and characters. */
  private static final int ANCHOR_SIZE = 16;

  private static final int LONGEST_SHARED_KEY = 100;
  private static final int MOST_SHARED_KEYS = 10_000;

  /** What makes an object unfit, and the field. */
  record Flaw(String field, String message) {}

  /**
   * A value with what is wrong in it.
   *
   * @param node the value; not to be used if there are flaws, except to name the object
   * @param flaws in the order of the text
   * @param line where it begins
   */
  record Value(JsonNode node, List<Flaw> flaws, int line) {}

  /** Takes the items of a list document. */
  interface Sink {
    /**
     * The items follow.
     *
     * @param before fields of the document that stand before them; null if it is a bare list
     */
    void begin(@Nullable ObjectNode before);

    /** The next item. */
    void item(Value item);
  }

  /** What an alias refers to. A null node: not to be referred to, for the reason given. */
  private record Anchored(@Nullable JsonNode node, int height, int size, String reason) {}

  private final ManifestLimits limits;
  private final Map<String, String> keys = new HashMap<>();
  private final Map<String, Anchored> anchors = new HashMap<>();
  private boolean isFullOfAnchors;
  private long aliasSize;

  private final ManifestEvents events;
  private @Nullable Sink sink;
  private List<Object> path = new ArrayList<>();
  private List<Flaw> flaws = new ArrayList<>();
  private long size;

  /** Flaws of all documents, listed or not. */
  private long found;

  /** Mappings and lists within each other in the value that was read last; 0 for a scalar. */
  private int height;

  /**
   * Trees of a text.
   *
   * @param limits of depth and sizes
   * @param events of the text
   * @param aliasSize what anchors and aliases elsewhere have used of their limit
   */
  ManifestTree(ManifestLimits limits, ManifestEvents events, long aliasSize) {
    this.limits = limits;
    this.events = events;
    this.aliasSize = aliasSize;
  }

  /** Fields plus characters that anchors keep and aliases stand for, elsewhere included. */
  long aliasSize() {
    return aliasSize;
  }

  /**
   * Reads one document, whose first event is the current one.
   *
   * @param items takes the elements of the list {@code items} at the top or of a bare list, which
   *     is then empty in the value returned; null to keep them there
   * @return the document
   * @throws ManifestFault if the text cannot be read further
   */
  Value document(@Nullable Sink items) {
    anchors.clear();
    isFullOfAnchors = false;
    sink = items;
    if (items != null && isPlainList()) {
      int line = events.line();
      items.begin(null);
      items(items, 1);
      return new Value(NODES.arrayNode(), List.of(), line);
    }
    return whole(0);
  }

  /** Reads the value at the current event as an object of its own. */
  private Value whole(int depth) {
    List<Object> outerPath = path;
    List<Flaw> outerFlaws = flaws;
    long outerSize = size;
    path = new ArrayList<>();
    flaws = new ArrayList<>();
    size = 0;
    int line = events.line();
    JsonNode node = value(depth);
    Value whole = new Value(node, flaws, line);
    path = outerPath;
    flaws = outerFlaws;
    size = outerSize;
    return whole;
  }

  /** Reads the value at the current event and ends at its last event. */
  private JsonNode value(int depth) {
    String flaw = events.flaw();
    if (flaw != null) {
      flaw(flaw);
    }
    String anchor = events.anchor();
    if (events.kind() == Kind.ALIAS) {
      return alias(String.valueOf(anchor), depth);
    }
    if (anchor == null) {
      return plainValue(depth);
    }
    anchors.put(anchor, new Anchored(null, 0, 0, "contains itself"));
    long sizeBefore = size;
    long foundBefore = found;
    JsonNode node = plainValue(depth);
    boolean isSound = found == foundBefore && isWithinSize();
    int own = isSound ? (int) (size - sizeBefore) : 0;
    long cost = (long) own + anchor.length() + ANCHOR_SIZE;
    if (aliasSize + cost > limits.maxAliasSize()) {
      anchors.remove(anchor);
      isFullOfAnchors = true;
    } else {
      aliasSize += cost;
      anchors.put(
          anchor,
          isSound
              ? new Anchored(node, height, own, "")
              : new Anchored(null, 0, 0, "is not sound itself"));
    }
    return node;
  }

  private JsonNode plainValue(int depth) {
    return switch (events.kind()) {
      case SCALAR -> {
        height = 0;
        charge(1L + events.length());
        yield events.scalar();
      }
      case LIST_START -> {
        deeper(depth);
        yield list(depth);
      }
      case MAPPING_START -> {
        deeper(depth);
        yield mapping(depth);
      }
      default -> throw events.fault("expected a value");
    };
  }

  private void deeper(int depth) {
    charge(1);
    if (depth >= limits.maxDepth()) {
      throw events.fault(
          "expected at most "
              + limits.maxDepth()
              + " mappings and lists within each other; raise maxDepth if the text is right");
    }
  }

  private ArrayNode list(int depth) {
    ArrayNode list = NODES.arrayNode();
    int highest = 1;
    for (int i = 0; events.next() != Kind.LIST_END; i++) {
      path.add(i);
      JsonNode element = value(depth + 1);
      highest = Math.max(highest, 1 + height);
      if (isWithinSize()) {
        list.add(element);
      }
      path.remove(path.size() - 1);
    }
    height = highest;
    return list;
  }

  private ObjectNode mapping(int depth) {
    ObjectNode mapping = NODES.objectNode();
    List<ObjectNode> merged = new ArrayList<>();
    int highest = 1;
    while (events.next() != Kind.MAPPING_END) {
      int line = events.line();
      boolean merge = events.isMerge();
      String key = key(depth);
      events.next();
      path.add(key == null ? "" : key);
      if (depth == 0 && sink != null && "items".equals(key) && isPlainList() && !mapping.has(key)) {
        sink.begin(mapping);
        items(sink, 2);
        mapping.set(key, NODES.arrayNode());
      } else {
        JsonNode value = value(depth + 1);
        highest = Math.max(highest, 1 + height);
        if (merge) {
          merge(value, merged);
        } else if (key != null && isWithinSize() && mapping.replace(key, value) != null) {
          flaw("line " + line + ": expected each key once, got this one again; remove one");
        }
      }
      path.remove(path.size() - 1);
    }
    // What stands in the mapping itself wins over what is merged, and that in the order given.
    for (ObjectNode other : merged) {
      other.properties().forEach(e -> mapping.putIfAbsent(e.getKey(), e.getValue()));
    }
    height = highest;
    return mapping;
  }

  private @Nullable String key(int depth) {
    JsonNode key = value(depth + 1);
    if (key.isContainer() || key.isNull()) {
      flaw("line " + events.line() + ": expected a string as key, got " + Shown.of(key));
      return null;
    }
    String text = key.asString();
    if (text.length() > LONGEST_SHARED_KEY || keys.size() >= MOST_SHARED_KEYS) {
      return keys.getOrDefault(text, text);
    }
    String known = keys.putIfAbsent(text, text);
    return known == null ? text : known;
  }

  private void merge(JsonNode value, List<ObjectNode> merged) {
    if (value instanceof ObjectNode mapping) {
      merged.add(mapping);
    } else if (value.isArray() && value.valueStream().allMatch(JsonNode::isObject)) {
      value.forEach(element -> merged.add((ObjectNode) element));
    } else {
      flaw("expected a mapping or a list of mappings to merge, got " + Shown.of(value));
    }
  }

  private boolean isPlainList() {
    return events.kind() == Kind.LIST_START && events.anchor() == null && events.flaw() == null;
  }

  /** Hands on the elements of the list at the current event and ends at its last event. */
  private void items(Sink items, int depth) {
    while (events.next() != Kind.LIST_END) {
      items.item(whole(depth));
    }
  }

  private JsonNode alias(String name, int depth) {
    height = 0;
    Anchored target = anchors.get(name);
    if (target == null && isFullOfAnchors) {
      flaw("the alias *" + name + " refers to what " + tooMuchAliased());
      return NullNode.getInstance();
    }
    if (target == null) {
      flaw("expected an anchor before its alias, got *" + name + " without &" + name);
      return NullNode.getInstance();
    }
    if (target.node() == null) {
      flaw("the alias *" + name + " refers to what " + target.reason());
      return NullNode.getInstance();
    }
    if (depth + target.height() > limits.maxDepth()) {
      flaw(
          "expected at most "
              + limits.maxDepth()
              + " mappings and lists within each other, got more through the alias *"
              + name);
      return NullNode.getInstance();
    }
    charge(target.size());
    aliasSize += target.size();
    if (aliasSize > limits.maxAliasSize()) {
      flaw("the alias *" + name + " refers to what " + tooMuchAliased());
      return NullNode.getInstance();
    }
    height = target.height();
    return target.node();
  }

  private String tooMuchAliased() {
    return "makes aliases stand for more than "
        + limits.maxAliasSize()
        + " fields and characters in all; write them out or raise maxAliasSize";
  }

  /** Counts what the object has; beyond the limit it is read on without being kept. */
  private void charge(long more) {
    boolean before = isWithinSize();
    size += more;
    if (before && !isWithinSize()) {
      found++;
      flaws.add(
          new Flaw(
              "",
              "expected an object of at most "
                  + limits.maxObjectSize()
                  + " fields and characters, got more; raise maxObjectSize if it is right"));
    }
  }

  private boolean isWithinSize() {
    return size <= limits.maxObjectSize();
  }

  private void flaw(String message) {
    found++;
    if (flaws.size() < ManifestConverter.MOST_PROBLEMS) {
      flaws.add(new Flaw(FieldPath.of(path), message));
    }
  }

  /** A text of a field at the top, or null if it has none. */
  static @Nullable String text(JsonNode object, String field) {
    return object.get(field) instanceof StringNode text && !text.asString().isEmpty()
        ? text.asString()
        : null;
  }
}
