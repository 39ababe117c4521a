package agent.datapath.manager.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.CgroupFileSystem;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.types.Leftover;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The file system of control groups that the agent mounts where there is none. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class ControlGroupKernelTest {
  @Test
  void shouldMountOnceAndRemoveWhatItHasMounted(@TempDir Path directory) throws IOException {
    final Path group = directory.resolve("groups");
    assertEquals(group, ControlGroup.find(group));
    assertEquals(group, ControlGroup.find(group));
    assertTrue(CgroupFileSystem.isMounted(group));
    final List<Leftover> found = leftovers(group);
    assertEquals(1, found.size());
    found.getFirst().removal().remove();
    assertFalse(Files.exists(group));
    assertEquals(List.of(), leftovers(group));
  }

  private static List<Leftover> leftovers(Path path) throws IOException {
    return ControlGroup.leftovers(Files.readAllLines(Path.of("/proc/self/mountinfo")), path);
  }
}
