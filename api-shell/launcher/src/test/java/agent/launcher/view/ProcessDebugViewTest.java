package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.ModuleHealth;
import agent.datapath.manager.thread.DutyCycle;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The process alone; its subsystems need a datapath (AgentStatusKernelTest). */
class ProcessDebugViewTest {
  private final ProcessDebugView view =
      new ProcessDebugView(
          "1.2.3", null, Optional::empty, Map.of("PATH", "/bin", "API_TOKEN", "x", "HOME", "/"));

  @Test
  void shouldShowTheVersionAndTheEnvironmentWithoutSecrets() {
    assertEquals("1.2.3", view.agentVersion());
    assertEquals(List.of("API_TOKEN=***", "HOME=/", "PATH=/bin"), view.environment());
  }

  @Test
  void shouldShowTheMappingsOfThisProcess() throws IOException {
    try (BufferedReader map = new BufferedReader(view.memoryMap())) {
      assertTrue(map.lines().anyMatch(line -> line.endsWith("libjvm.so")));
    }
  }

  @Test
  void shouldShowAThreadAndAModuleInALineEach() {
    assertEquals(
        "dp-mirror: 0 ms of work, longest duty cycle 0 us",
        ProcessDebugView.text(new DutyCycle("dp-mirror", 1_000_000)));
    assertEquals(
        "conntrack: DEGRADED: the table is full",
        ProcessDebugView.text(
            new ModuleHealth("conntrack", ModuleHealth.Level.DEGRADED, "the table is full", 1, 2)));
  }
}
