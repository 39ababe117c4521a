package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.types.Leftover;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ControlGroupTest {
  @Test
  void shouldFindTheFirstCgroup2FileSystem() {
    final List<String> mounts =
        List.of(
            "22 1 0:20 / /proc rw,relatime - proc proc rw",
            "24 1 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            "25 1 0:23 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw",
            "26 1 0:23 / /mnt rw - cgroup2 cgroup2 rw");
    assertEquals(Path.of("/sys/fs/cgroup/unified"), ControlGroup.find(mounts));
    assertEquals(Path.of("/run/agent/cgroupv2"), ControlGroup.find(mounts.subList(0, 2)));
  }

  @Test
  void shouldFindTheMountOfTheAgentAtItsOwnPathOnly() {
    final Path own = Path.of("/run/agent/cgroupv2");
    final List<String> others =
        List.of(
            "25 1 0:23 / /run/agent/cgroupv2 rw - cgroup2 cgroup2 rw",
            "26 1 0:23 / /run/agent/cgroupv2 rw - cgroup2 agent-of-another rw",
            "27 1 0:23 / /run/agent/cgroupv2 rw - tmpfs agent rw",
            "28 1 0:23 / /sys/fs/cgroup rw - cgroup2 agent rw");
    assertEquals(List.of(), ControlGroup.leftovers(others, own));
    final List<String> mounts = new ArrayList<>(others);
    mounts.add("29 1 0:23 / /run/agent/cgroupv2 rw,relatime shared:9 - cgroup2 agent rw");
    assertEquals(
        List.of("control groups mounted at /run/agent/cgroupv2"),
        ControlGroup.leftovers(mounts, own).stream().map(Leftover::text).toList());
  }

  @Test
  void shouldNameWhatCannotBeAControlGroup(@TempDir Path directory) throws IOException {
    final Path file = Files.createFile(directory.resolve("file"));
    final String message =
        assertThrows(OperationException.class, () -> ControlGroup.find(file.resolve("below")))
            .getMessage();
    assertEquals("control groups: cgroup-root: '" + file + "' is not a directory", message);
  }
}
