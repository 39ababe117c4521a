package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.TemporaryBpfFileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

@KernelTest
class DescriptionsKernelTest {
  @Test
  void shouldDescribeAMapAndFindItById() {
    final int fd = MapCalls.create(MapSpec.of(MapType.LRU_HASH, "described", 16, 96, 1000, 0));
    final MapDescription description = ObjectDescriptions.map(fd);
    try {
      assertEquals(
          new MapDescription(
              description.id(), MapType.LRU_HASH, "described", 16, 96, 1000, 0, 0, 0, 0),
          description);
      assertTrue(contains(ObjectDescriptions.mapIds(), description.id()));
      final int again = ObjectDescriptions.openMap(description.id());
      assertEquals(description, ObjectDescriptions.map(again));
      Descriptors.close(again);
    } finally {
      Descriptors.close(fd);
    }
    assertFalse(contains(ObjectDescriptions.mapIds(), description.id()));
  }

  @Test
  void shouldDescribeAProgramWithItsBtf() {
    LibBpf.ensureLoaded();
    final byte[] elf = TestObjects.compile(TestObjects.LENGTH_OR_CONSTANT);
    try (BpfObject object = BpfObject.open(elf, "described")) {
      object.load();
      final ProgramDescription description =
          ObjectDescriptions.program(object.programFd("length_or_constant"));
      assertEquals(ProgramType.SCHED_CLS, description.type());
      assertEquals("length_or_const", description.name());
      assertEquals(16, description.tag().length());
      assertTrue(description.instructions() > 1 && description.verifiedInstructions() > 1);
      assertTrue(contains(ObjectDescriptions.programIds(), description.id()));
      final byte[] btf = ObjectDescriptions.btf(description.btfId());
      assertArrayEquals(new byte[] {(byte) 0x9f, (byte) 0xeb, 1}, Arrays.copyOf(btf, 3));
    }
  }

  @Test
  void shouldRefuseADescriptorOfAnotherKind() {
    assertThrows(BindingsException.class, () -> ObjectDescriptions.map(0));
    assertThrows(BindingsException.class, () -> ObjectDescriptions.btf(Integer.MAX_VALUE));
  }

  @Test
  void shouldPinAndOpenAMap() {
    try (TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount()) {
      final Path pin = bpffs.path().resolve("pinned");
      assertEquals(-Errno.ENOENT, BpfFileSystem.open(pin));
      final int fd = MapCalls.create(MapSpec.of(MapType.ARRAY, "pinned", 4, 8, 1, 0));
      final int id = ObjectDescriptions.map(fd).id();
      assertEquals(0, BpfFileSystem.pin(fd, pin));
      assertEquals(-Errno.EEXIST, BpfFileSystem.pin(fd, pin));
      Descriptors.close(fd);
      final int again = BpfFileSystem.open(pin);
      assertEquals(id, ObjectDescriptions.map(again).id());
      Descriptors.close(again);
      assertEquals(0, BpfFileSystem.unpin(pin));
      assertEquals(-Errno.ENOENT, BpfFileSystem.unpin(pin));
    }
  }

  @Test
  void shouldMountAndUnmountTheFileSystem() throws Exception {
    final Path directory = Files.createTempDirectory("agent-bpffs-");
    try {
      assertFalse(BpfFileSystem.isMounted(directory));
      BpfFileSystem.mount(directory);
      assertTrue(BpfFileSystem.isMounted(directory));
      BpfFileSystem.unmount(directory);
      assertFalse(BpfFileSystem.isMounted(directory));
      assertThrows(BindingsException.class, () -> BpfFileSystem.unmount(directory));
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
    assertEquals(version >= 5010, features.redirectNeighbour(), features::toString);
    assertEquals(version >= 5011, features.coarseClock(), features::toString);
    assertEquals(version >= 5014, features.mapSweep(), features::toString);
    assertEquals(Files.exists(Path.of("/sys/kernel/btf/vmlinux")), features.btf());
  }

  private static boolean contains(int[] ids, int id) {
    return Arrays.stream(ids).anyMatch(candidate -> candidate == id);
  }
}
