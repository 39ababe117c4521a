package agent.maps.btf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
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

  private static final int SYMBOLS = 2;
  private static final int NAMES_AT = 64 + 4 * 64;
  private static final int SYMBOLS_AT = NAMES_AT + 48;
  private static final int DATA_AT = SYMBOLS_AT + 4 * 24;

  /**
   * Returns an object with the sections "", {@code .data} of 8 bytes, {@code .strtab}, and {@code
   * .symtab} with an empty symbol, {@code one} and {@code two} in {@code .data}, and {@code out},
   * which is in none.
   */
  static ElfObject withSymbols(ByteOrder order) {
    final ByteBuffer elf = ByteBuffer.allocate(DATA_AT + 8).order(order);
    elf.put(new byte[] {0x7f, 'E', 'L', 'F', 2, (byte) (order == ByteOrder.BIG_ENDIAN ? 2 : 1)});
    elf.putLong(40, 64).putShort(60, (short) 4).putShort(62, (short) 2);
    section(elf, 1, 1, PROGRAM, DATA_AT, 8);
    section(elf, 2, 7, 3, NAMES_AT, 48);
    section(elf, 3, 15, SYMBOLS, SYMBOLS_AT, 4 * 24).putInt(64 + 3 * 64 + 40, 2);
    elf.put(
        NAMES_AT, "\0.data\0.strtab\0.symtab\0one\0two\0out\0".getBytes(StandardCharsets.US_ASCII));
    symbol(elf, 1, 23, 1, 2, 4);
    symbol(elf, 2, 27, 1, 6, 1);
    symbol(elf, 3, 31, 4, 1, 1);
    return ElfObject.parse(elf.array());
  }

  private static ByteBuffer section(
      ByteBuffer elf, int index, int name, int type, long offset, long size) {
    final int at = 64 + index * 64;
    elf.putInt(at, name).putInt(at + 4, type);
    return elf.putLong(at + 24, offset).putLong(at + 32, size);
  }

  private static void symbol(
      ByteBuffer elf, int index, int name, int section, long offset, long size) {
    final int at = SYMBOLS_AT + index * 24;
    elf.putInt(at, name).putShort(at + 6, (short) section);
    elf.putLong(at + 8, offset).putLong(at + 16, size);
  }

  @Test
  void shouldFindTheSymbolsOfASectionInEitherByteOrder() {
    for (final ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
      final ElfObject object = withSymbols(order);
      assertEquals(
          Optional.of(new ElfObject.Symbol("one", ".data", 2, 4)), object.symbol(".data", "one"));
      assertEquals(
          Optional.of(new ElfObject.Symbol("two", ".data", 6, 1)), object.symbol(".data", "two"));
      assertEquals(Optional.empty(), object.symbol(".data", "out"));
      assertEquals(Optional.empty(), object.symbol(".data", "three"));
      assertEquals(Optional.empty(), object.symbol(".strtab", "one"));
      assertEquals(Optional.of(new ElfObject.Symbol("out", "", 1, 1)), object.symbol("", "out"));
    }
  }

  @Test
  void shouldKnowItsSections() {
    final ElfObject object = withSymbols(ByteOrder.LITTLE_ENDIAN);
    assertTrue(object.hasSection(".data"));
    assertTrue(object.hasSection(".symtab"));
    assertFalse(object.hasSection(".bss"));
    assertEquals(
        "ELF object: no section .bss",
        assertThrows(BtfException.class, () -> object.section(".bss")).getMessage());
  }
}
