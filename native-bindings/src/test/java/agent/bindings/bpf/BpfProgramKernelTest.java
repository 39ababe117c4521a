package agent.bindings.bpf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.bindings.TestObjects;
import agent.bindings.bpf.BpfProgram.ProgramDescription;
import agent.bindings.libbpf.Libbpf;
import agent.testkit.KernelTest;
import agent.testkit.TemporaryBpfFileSystem;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class BpfProgramKernelTest {
  private static final String NAME = "length_or_constant";

  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final Path pin = bpffs.path().resolve("program");
  private BpfObject object;

  @BeforeEach
  void load() {
    LibBpf.ensureLoaded();
    object = BpfObject.open(TestObjects.compile(TestObjects.LENGTH_OR_CONSTANT), "program");
    object.load();
  }

  @AfterEach
  void close() {
    object.close();
    bpffs.close();
  }

  @Test
  void shouldDescribeAProgram() {
    final ProgramDescription description = object.program(NAME).info();
    assertEquals(Libbpf.BPF_PROG_TYPE_SCHED_CLS(), description.type());
    assertEquals("length_or_const", description.name());
    assertEquals(16, description.tag().length());
    assertTrue(description.instructions() > 1 && description.verifiedInstructions() > 1);
  }

  @Test
  void shouldOpenAProgramByItsIdAndByItsPin() {
    final BpfProgram program = object.program(NAME);
    assertEquals(NAME, program.name());
    program.pin(pin);
    final ProgramDescription description = program.info();
    try (BpfProgram byId = BpfProgram.openById(description.id())) {
      assertEquals(description, byId.info());
      assertEquals("length_or_const", byId.name());
    }
    object.close();
    try (BpfProgram byPin = BpfProgram.openPinned(pin).orElseThrow()) {
      assertEquals(description, byPin.info());
      byPin.unpin();
      assertFalse(Files.exists(pin));
      assertEquals(description, byPin.info(), "it exists while a descriptor is open");
    }
  }

  @Test
  void shouldLeaveAProgramOfAnObjectOpenUntilTheObjectIsClosed() {
    final BpfProgram program = object.program(NAME);
    program.close();
    assertEquals("length_or_const", program.info().name());
    object.close();
    final IllegalStateException failure = assertThrows(IllegalStateException.class, program::info);
    assertEquals("program length_or_constant is closed", failure.getMessage());
  }

  @Test
  void shouldNotOpenAProgramThatDoesNotExist() {
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> BpfProgram.openById(Integer.MAX_VALUE));
    assertEquals("program of id 2147483647: open: ENOENT", failure.getMessage());
  }
}
