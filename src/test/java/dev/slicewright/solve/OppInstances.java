package dev.slicewright.solve;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The packing instances of {@code opp/README.md}, each as a mesh and a gang of slices. */
public final class OppInstances {

  private OppInstances() {}

  /** One instance. */
  public record Opp(
      String name, int width, int height, boolean feasible, List<SliceRequest> requests) {

    /** One pod: the mesh, empty. */
    public Fleet fleet() {
      TpuTopology mesh =
          TpuTopology.torusBuilder(width, height).hostTile(Shape.of(1, 1)).mesh().boxes().build();
      return Fleet.builder().pod("mesh", mesh).build();
    }
  }

  /** All instances, in the order of the file. */
  public static List<Opp> all() {
    List<Opp> out = new ArrayList<>();
    try (InputStream in =
            Objects.requireNonNull(OppInstances.class.getResourceAsStream("/opp/cjcm08.csv"));
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      lines.readLine();
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] f = line.split(",", -1);
        List<SliceRequest> requests = new ArrayList<>();
        for (String item : f[4].split(" ")) {
          requests.add(
              SliceRequest.builder("box" + requests.size())
                  .shape(item)
                  .mayTurn(false)
                  .gang("all")
                  .build());
        }
        out.add(
            new Opp(
                f[0],
                Integer.parseInt(f[1]),
                Integer.parseInt(f[2]),
                f[3].equals("feasible"),
                requests));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out;
  }
}
