package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Puts the hosts of a cube or pool in a row in which every partition is consecutive: by the path of
 * partitions around them, then by name. Confined to one thread at a time.
 *
 * <p>Hosts and partitions of which no node is known are filled up where they must be.
 */
final class PartitionRow {

  /**
   * A node and the partitions that it is taken to lie in, from the largest below the root down.
   *
   * @param node its facts
   * @param tags one for each level
   */
  record Member(NodeFacts node, List<NodeFacts.Tag> tags) {}

  /**
   * A partition of the row.
   *
   * @param shape its shape, sorted
   * @param id the platform's id, or a generated one if no node of it is known
   * @param first its first host in the row
   * @param hosts how many
   */
  record Span(Shape shape, String id, int first, int hosts) {}

  /** Hosts in order, null where no node is known; partitions, parents first. */
  record Row(List<@Nullable NodeFacts> hosts, List<Span> spans) {

    int missing() {
      return (int) hosts.stream().filter(Objects::isNull).count();
    }
  }

  private final int chipsPerHost;
  private final List<Shape> levels; // below the root, the largest first
  private final List<@Nullable NodeFacts> hosts = new ArrayList<>();
  private final List<Span> spans = new ArrayList<>();
  private final List<Problem> problems;

  private PartitionRow(int chipsPerHost, List<Shape> levels, List<Problem> problems) {
    this.chipsPerHost = chipsPerHost;
    this.levels = levels;
    this.problems = problems;
  }

  /**
   * Orders the members of a root.
   *
   * @param members by name
   * @param problems receives what cannot be: more hosts or partitions than there is room for
   * @return the row, or null if there was such a problem
   */
  static @Nullable Row of(
      Shape root,
      String id,
      List<Shape> levels,
      int chipsPerHost,
      List<Member> members,
      List<Problem> problems) {
    int before = problems.size();
    PartitionRow row = new PartitionRow(chipsPerHost, levels, problems);
    row.fill(root, id, 0, members);
    return problems.size() > before ? null : new Row(row.hosts, row.spans);
  }

  private void fill(Shape shape, String id, int level, List<Member> members) {
    int room = (int) (shape.chips() / chipsPerHost);
    spans.add(new Span(shape, id, hosts.size(), room));
    if (level == levels.size()) {
      fillHosts(shape, id, room, members);
      return;
    }
    Shape below = levels.get(level);
    TreeMap<String, List<Member>> inside = new TreeMap<>();
    for (Member member : members) {
      inside.computeIfAbsent(member.tags().get(level).id(), k -> new ArrayList<>()).add(member);
    }
    int most = (int) (shape.chips() / below.chips());
    if (inside.size() > most) {
      Member last = inside.lastEntry().getValue().get(0);
      problems.add(
          new Problem(
              NodeFacts.path(last.node().name(), last.tags().get(level).label()),
              "expected "
                  + most
                  + " partitions of "
                  + SliceManifest.platformForm(below)
                  + " in "
                  + describe(shape, id)
                  + ", but the nodes name "
                  + String.join(", ", inside.keySet())
                  + "; mend the labels"));
      return;
    }
    for (Map.Entry<String, List<Member>> part : inside.entrySet()) {
      fill(below, part.getKey(), level + 1, part.getValue());
    }
    for (int i = inside.size(); i < most; i++) {
      fill(below, id + "/" + SliceManifest.platformForm(below) + "." + i, level + 1, List.of());
    }
  }

  private void fillHosts(Shape shape, String id, int room, List<Member> members) {
    if (members.size() > room) {
      NodeFacts last = members.get(members.size() - 1).node();
      problems.add(
          new Problem(
              last.ref().path(),
              "expected "
                  + room
                  + (room == 1 ? " node in " : " nodes in ")
                  + describe(shape, id)
                  + ", but there are "
                  + members.size()
                  + ": "
                  + names(members)
                  + "; mend their labels"));
      return;
    }
    for (Member member : members) {
      hosts.add(member.node());
    }
    for (int i = members.size(); i < room; i++) {
      hosts.add(null);
    }
  }

  private static String names(List<Member> members) {
    List<String> names = members.stream().map(member -> member.node().name()).toList();
    return names.size() <= 4
        ? String.join(", ", names)
        : String.join(", ", names.subList(0, 4)) + " and " + (names.size() - 4) + " more";
  }

  private static String describe(Shape shape, String id) {
    return "partition " + id + " (" + SliceManifest.platformForm(shape) + ")";
  }
}
