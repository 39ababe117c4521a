package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.MapType;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.TemporaryBpfFileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

@KernelTest
class DescriptionsKernelTest {
  @Test
  void shouldDescribeAMapAndFindItById() {
    final int fd = MapCalls.create(MapSpec.of(MapType.LRU_HASH, "described", 16, 96, 1000, 0));
    final MapDescription description = MapDescription.of(fd);
    try {
      assertEquals(
          new MapDescription(description.id(), MapType.LRU_HASH, "described", 16, 96, 1000, 0),
          description);
      final int again = MapCalls.openById(description.id());
      assertEquals(description, MapDescription.of(again));
      Descriptors.close(again);
    } finally {
      Descriptors.close(fd);
    }
    assertEquals(-Errno.ENOENT, MapCalls.openById(description.id()));
  }

  @Test
  void shouldRefuseToDescribeADescriptorThatIsNotAMap() {
    assertThrows(BindingsException.class, () -> MapDescription.of(0));
  }

  @Test
  void shouldPinAndOpenAMap() {
    try (TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount()) {
      final Path pin = bpffs.path().resolve("pinned");
      assertEquals(-Errno.ENOENT, BpfFileSystem.open(pin));
      final int fd = MapCalls.create(MapSpec.of(MapType.ARRAY, "pinned", 4, 8, 1, 0));
      final int id = MapDescription.of(fd).id();
      assertEquals(0, BpfFileSystem.pin(fd, pin));
      assertEquals(-Errno.EEXIST, BpfFileSystem.pin(fd, pin));
      Descriptors.close(fd);
      final int again = BpfFileSystem.open(pin);
      assertEquals(id, MapDescription.of(again).id());
      Descriptors.close(again);
      assertEquals(0, BpfFileSystem.unpin(pin));
      assertEquals(-Errno.ENOENT, BpfFileSystem.unpin(pin));
    }
  }

  @Test
  void shouldMountTheFileSystem() throws Exception {
    final Path directory = Files.createTempDirectory("agent-bpffs-");
    try {
      assertFalse(BpfFileSystem.isMounted(directory));
      BpfFileSystem.mount(directory);
      assertTrue(BpfFileSystem.isMounted(directory));
      Commands.run("umount", directory.toString());
      assertFalse(BpfFileSystem.isMounted(directory));
      assertThrows(
          BindingsException.class, () -> BpfFileSystem.mount(directory.resolve("missing")));
    } finally {
      Files.delete(directory);
    }
  }

  @Test
  void shouldFindTheFeaturesOfThisKernel() {
    LibBpf.ensureLoaded();
    final KernelFeatures features = KernelFeatures.probe();
    final String[] release = features.release().split("[.-]");
    final int version = Integer.parseInt(release[0]) * 1000 + Integer.parseInt(release[1]);

    assertEquals(version >= 6006, features.tcx(), features::toString);
    assertEquals(version >= 5010, features.redirectPeer(), features::toString);
    assertEquals(version >= 5011, features.coarseClock(), features::toString);
    assertEquals(version >= 5014, features.mapSweep(), features::toString);
    assertEquals(Files.exists(Path.of("/sys/kernel/btf/vmlinux")), features.btf());
  }
}
