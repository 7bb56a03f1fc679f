package dev.slicewright.kubernetes;

import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the chips that partition ids name.
 *
 * <p>The rules are those of GKE's Slice resource: whole 4x4x4 cubes of one reservation block, as
 * many as the topology has, each once; or one partition of that very shape.
 */
final class SlicePlaces {

  /** The partition of which larger slices of TPU7x are made. */
  static final Shape CUBE = Shape.of(4, 4, 4);

  /**
   * What partition ids name.
   *
   * @param domain the domain, if all is well
   * @param footprint the chips in it, if all is well; cubes in the order given
   * @param field the field that is wrong, such as {@code spec.partitionIds[2]}; empty if none is
   * @param why what is wrong with it; empty if nothing is
   * @param known what can be found all the same, in order
   */
  record Found(
      @Nullable Domain domain,
      @Nullable Footprint footprint,
      String field,
      String why,
      List<Known> known) {}

  /** Chips that a partition id names. */
  record Known(Domain domain, Footprint footprint) {}

  private SlicePlaces() {}

  /** The chips of a Slice. */
  static Found find(SliceManifest slice, Domains domains) {
    boolean cubes = isWholeCubes(slice.topology());
    Search search = new Search(domains, slice.type(), cubes ? CUBE : slice.topology());
    search.add("spec.partitionIds", slice.partitionIds());
    long needed = cubes ? slice.topology().chips() / CUBE.chips() : 1;
    if (search.why.isEmpty() && slice.partitionIds().size() != needed) {
      search.fail(
          "spec.partitionIds",
          "expected "
              + (cubes
                  ? needed + " ids of cubes, since " + slice.topology() + " has so many"
                  : "the id of one partition of " + slice.topology())
              + ", but there were "
              + slice.partitionIds().size()
              + "; delete the Slice and create it with the right ids");
    }
    Found found = search.found();
    if (found.domain() != null && found.footprint() != null) {
      String why = found.domain().topology().whyNot(slice.topology(), found.footprint()).orElse("");
      if (!why.isEmpty()) {
        return new Found(null, null, "spec.topology", why, found.known());
      }
    }
    return found;
  }

  /** The chips of partitions of one shape in one domain, of any number where they are cubes. */
  static Found find(Domains domains, Domain in, Shape shape, String field, List<String> ids) {
    Search search = new Search(domains, in.topology().accelerator().name(), shape);
    search.add(field, ids);
    if (search.why.isEmpty() && !search.places.containsKey(in.id())) {
      search.fail(field, "expected partitions of " + in.id() + ", but they are of another pod");
    }
    if (search.why.isEmpty() && ids.size() > 1 && !shape.equals(CUBE)) {
      search.fail(field, "expected one partition of " + shape + ", but there were " + ids.size());
    }
    return search.found();
  }

  /** Whether a shape is made of whole cubes. */
  static boolean isWholeCubes(Shape shape) {
    return shape.rank() == 3
        && shape.x() % CUBE.x() == 0
        && shape.y() % CUBE.y() == 0
        && shape.z() % CUBE.z() == 0;
  }

  /** The cube that a partition of 4x4x4 is. */
  static CubeId cube(TpuTopology topology, PartitionId partition) {
    int cell = topology.cells(new Footprint.Partition(partition))[0];
    return topology.cubeOf(topology.hostOfCell(cell));
  }

  private record Place(Domain domain, List<PartitionId> partitions) {}

  private static final class Search {
    private final Domains domains;
    private final String type;
    private final Shape shape;
    private final Map<String, Place> places = new LinkedHashMap<>();
    private String field = "";
    private String why = "";

    Search(Domains domains, String type, Shape shape) {
      this.domains = domains;
      this.type = type;
      this.shape = shape;
    }

    /** Keeps the first thing that is wrong. */
    void fail(String where, String what) {
      if (why.isEmpty()) {
        field = where;
        why = what;
      }
    }

    void add(String path, List<String> ids) {
      Set<String> seen = new LinkedHashSet<>();
      for (int i = 0; i < ids.size(); i++) {
        String at = path + "[" + i + "]";
        if (!seen.add(ids.get(i))) {
          fail(at, "expected each partition once, but " + ids.get(i) + " is named twice");
        } else {
          add(at, ids.get(i));
        }
      }
      if (places.size() > 1) {
        fail(
            path,
            "expected partitions of one reservation block, which no slice may leave, but they are"
                + " of "
                + String.join(" and ", places.keySet()));
      }
    }

    private void add(String at, String id) {
      List<Domain> having =
          domains.withPartition(shape, id).stream()
              .filter(domain -> domain.topology().accelerator().name().equals(type))
              .filter(domain -> domain.partition(shape, id).isPresent())
              .toList();
      for (Domain domain : having) {
        places
            .computeIfAbsent(domain.id(), name -> new Place(domain, new ArrayList<>()))
            .partitions()
            .add(domain.partition(shape, id).orElseThrow());
      }
      if (having.isEmpty()) {
        fail(
            at,
            "expected the id of a "
                + shape
                + " partition of "
                + type
                + " that nodes are labelled with, but was "
                + id
                + "; read the nodes of its block too, or delete what names it");
      } else if (having.size() > 1) {
        fail(
            at,
            "expected a partition of one reservation block, but nodes of "
                + String.join(" and ", new TreeSet<>(having.stream().map(Domain::id).toList()))
                + " are labelled with "
                + id);
      }
    }

    Found found() {
      List<Known> known = new ArrayList<>();
      places.values().forEach(place -> known.addAll(footprints(place)));
      return why.isEmpty() && known.size() == 1
          ? new Found(known.get(0).domain(), known.get(0).footprint(), "", "", known)
          : new Found(null, null, field, why, known);
    }

    /** One footprint of all cubes, or one of each partition. */
    private List<Known> footprints(Place place) {
      TpuTopology topology = place.domain().topology();
      if (shape.equals(CUBE) && topology.isOptical()) {
        List<CubeId> cubes = place.partitions().stream().map(id -> cube(topology, id)).toList();
        return List.of(new Known(place.domain(), new Footprint.Cubes(cubes)));
      }
      return place.partitions().stream()
          .map(id -> new Known(place.domain(), new Footprint.Partition(id)))
          .toList();
    }
  }
}
