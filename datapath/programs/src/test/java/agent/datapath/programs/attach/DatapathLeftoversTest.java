package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.types.Leftover;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is found below a BPF root, and in which order; links and filters need a kernel. */
class DatapathLeftoversTest {
  @TempDir private Path root;

  @BeforeAll
  static void load() {
    LibBpf.ensureLoaded();
  }

  private Path file(String name) throws IOException {
    final Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.createFile(file);
  }

  private List<Leftover> find() {
    return DatapathLeftovers.find(root, Map.of());
  }

  @Test
  void shouldFindPinsThenMapsThenTheFoldersOfTheAgentTheInnermostFirst() throws IOException {
    file("agent/endpoints/7/from_endpoint");
    file("agent/devices/eth0/from_network");
    file("agent/maps/ipcache4");
    file("agent/removals/7");
    file("agent/others/file");
    file("tc/globals/file");
    assertEquals(
        List.of(
            "pin ROOT/agent/endpoints/7/from_endpoint",
            "pin ROOT/agent/devices/eth0/from_network",
            "map ROOT/agent/maps/ipcache4",
            "folder ROOT/agent/endpoints/7",
            "folder ROOT/agent/endpoints",
            "folder ROOT/agent/devices/eth0",
            "folder ROOT/agent/devices",
            "folder ROOT/agent/maps",
            "folder ROOT/agent/removals",
            "folder ROOT/agent"),
        find().stream().map(left -> left.text().replace(root.toString(), "ROOT")).toList());
  }

  @Test
  void shouldRemoveWhatItFindsAndKeepTheFilesOfOthers() throws IOException {
    file("agent/endpoints/7/from_endpoint");
    file("agent/maps/ipcache4");
    final Path others = file("tc/globals/file");
    for (final Leftover left : find()) {
      left.removal().remove();
    }
    assertFalse(Files.exists(root.resolve("agent")));
    assertTrue(Files.exists(others));
    assertEquals(List.of(), find());
  }

  @Test
  void shouldTakeAMapThatIsGoneForRemovedAndReportOneThatCannotBe() throws IOException {
    final Path map = file("agent/maps/ipcache4");
    final Leftover left = find().getFirst();
    Files.delete(map);
    left.removal().remove();
    Files.createDirectories(map);
    assertEquals(
        map + ": unpin: EISDIR",
        assertThrows(OperationException.class, left.removal()::remove).getMessage());
  }
}
