package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Sections of objects whose headers are written here, byte by byte (elf.h). */
class ElfObjectTest {
  private static final int PROGRAM = 1;
  private static final int NO_BITS = 8;
  private static final int HEADERS = 64;
  private static final int NAMES = HEADERS + 2 * 64;
  private static final int CONTENT = NAMES + 16;
  private static final int END = CONTENT + 4;

  /** Returns an object with the section {@code .BTF} and that of the names. */
  private static ElfObject object(int type, long offset, long size) {
    final ByteBuffer elf = ByteBuffer.allocate(END).order(ByteOrder.LITTLE_ENDIAN);
    elf.put(new byte[] {0x7f, 'E', 'L', 'F', 2, 1});
    elf.putLong(40, HEADERS).putShort(60, (short) 2).putShort(62, (short) 1);
    elf.putInt(HEADERS, 1).putInt(HEADERS + 4, type);
    elf.putLong(HEADERS + 24, offset).putLong(HEADERS + 32, size);
    elf.putLong(HEADERS + 64 + 24, NAMES).putLong(HEADERS + 64 + 32, 16);
    elf.put(NAMES, "\0.BTF\0".getBytes(StandardCharsets.US_ASCII));
    elf.put(CONTENT, new byte[] {1, 2, 3, 4});
    return ElfObject.parse(elf.array());
  }

  @Test
  void shouldReturnTheBytesOfASection() {
    assertArrayEquals(
        new byte[] {1, 2, 3, 4}, object(PROGRAM, CONTENT, END - CONTENT).section(".BTF"));
    assertArrayEquals(new byte[] {2, 3}, object(PROGRAM, CONTENT + 1, 2).section(".BTF"));
    assertArrayEquals(new byte[0], object(PROGRAM, END, 0).section(".BTF"));
    assertArrayEquals(new byte[3], object(NO_BITS, CONTENT, 3).section(".BTF"));
    assertArrayEquals(new byte[1 << 20], object(NO_BITS, 0, 1 << 20).section(".BTF"));
  }

  /** And allocate nothing for it: the largest would not fit the heap. */
  @Test
  void shouldRefuseASectionThatExceedsTheFile() {
    final long[][] sections = {
      {PROGRAM, CONTENT, 5},
      {PROGRAM, END + 1, 0},
      {PROGRAM, END - 1, 2},
      {PROGRAM, 0, Integer.MAX_VALUE},
      {PROGRAM, Integer.MAX_VALUE, Integer.MAX_VALUE},
      {PROGRAM, CONTENT, -1},
      {PROGRAM, -1, 2},
      {PROGRAM, CONTENT, Integer.MIN_VALUE},
      {NO_BITS, 0, (1 << 20) + 1},
      {NO_BITS, 0, Integer.MAX_VALUE},
      {NO_BITS, 0, -1}
    };
    for (final long[] section : sections) {
      final ElfObject object = object((int) section[0], section[1], section[2]);
      assertEquals(
          "ELF object: section .BTF exceeds the file",
          assertThrows(BtfException.class, () -> object.section(".BTF")).getMessage());
    }
    assertThrows(BtfException.class, () -> object(PROGRAM, 1L << 32, 1));
    assertThrows(BtfException.class, () -> object(PROGRAM, 0, 1L << 32));
  }
}
