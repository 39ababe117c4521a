package agent.launcher.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.maps.mirror.MapVisitor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said where no map is pinned; the maps need a kernel (AgentCtlKernelTest). */
class AgentPartsTest {
  @TempDir private Path bpfRoot;

  private final AgentParts parts = new AgentParts();

  @Test
  void shouldSayWhereNoAgentHasPinnedMaps() {
    final String message = "no agent has pinned maps under " + bpfRoot;
    assertEquals(message, assertThrows(IOException.class, () -> parts.maps(bpfRoot)).getMessage());
    assertEquals(
        message,
        assertThrows(IOException.class, () -> parts.read(bpfRoot, "ipcache4", (k, v) -> true))
            .getMessage());
  }

  @Test
  void shouldFindNoMapInAnEmptyFolder() throws IOException {
    Files.createDirectories(bpfRoot.resolve("agent/maps"));
    assertEquals(List.of(), parts.maps(bpfRoot));
    assertFalse(parts.read(bpfRoot, "ipcache4", (key, value) -> true));
  }

  @Test
  void shouldNameTheFieldsOfAMapAsTheApiDoes() {
    assertEquals(
        Map.of(
            "path",
            "/sys/fs/bpf/m",
            "name",
            "m",
            "type",
            "hash",
            "key-size",
            4,
            "value-size",
            8,
            "max-entries",
            16,
            "entries",
            2L,
            "flags",
            1,
            "pressure",
            0.125),
        AgentParts.element(
            new MapVisitor.MapSummary("/sys/fs/bpf/m", "m", "hash", 4, 8, 16, 2, 1, 0.125)));
  }

  @Test
  void shouldCheckARule() {
    assertNull(parts.check("{\"endpointSelector\":{},\"ingress\":[{}]}"));
    assertEquals("ingres", parts.check("{\"ingres\":[]}").path());
  }
}
