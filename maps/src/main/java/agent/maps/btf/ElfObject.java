package agent.maps.btf;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Sections and symbols of a 64-bit ELF object that clang compiled for BPF (elf(5)). Immutable. */
public final class ElfObject {
  /**
   * A symbol.
   *
   * @param section name of the section that contains it, or empty
   * @param offset in the section, in bytes
   */
  public record Symbol(String name, String section, long offset, long size) {}

  private record Section(String name, int type, int offset, int size, int link) {}

  private static final int MAGIC = 0x7f454c46;
  private static final int CLASS_64 = 2;
  private static final int BIG_ENDIAN = 2;
  private static final int SECTION_HEADER_OFFSET = 40;
  private static final int SECTION_COUNT_OFFSET = 60;
  private static final int SECTION_NAMES_OFFSET = 62;
  private static final int SECTION_HEADER_LENGTH = 64;
  private static final int SYMBOL_LENGTH = 24;
  private static final int TYPE_SYMBOLS = 2;
  private static final int TYPE_NO_BITS = 8;

  /** Far more than the zeros that a program of the agent has ({@code .bss}). */
  private static final int MOST_ZEROS = 1 << 20;

  private final ByteBuffer data;
  private final List<Section> sections = new ArrayList<>();
  private final List<Symbol> symbols = new ArrayList<>();

  private ElfObject(byte[] object) {
    data = ByteBuffer.wrap(object);
  }

  /**
   * Parses an object.
   *
   * @throws BtfException if the bytes are not a 64-bit ELF object or are truncated
   */
  public static ElfObject parse(byte[] object) {
    final ElfObject parsed = new ElfObject(object);
    try {
      parsed.read();
    } catch (BufferUnderflowException | IndexOutOfBoundsException | ArithmeticException e) {
      final BtfException truncated =
          new BtfException("ELF object: truncated, " + object.length + " bytes");
      truncated.initCause(e);
      throw truncated;
    }
    return parsed;
  }

  private void read() {
    if (data.getInt(0) != MAGIC || data.get(4) != CLASS_64) {
      throw new BtfException("ELF object: not a 64-bit ELF file");
    }
    data.order(data.get(5) == BIG_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    final int table = Math.toIntExact(data.getLong(SECTION_HEADER_OFFSET));
    final int count = data.getShort(SECTION_COUNT_OFFSET) & 0xffff;
    final int names =
        table + (data.getShort(SECTION_NAMES_OFFSET) & 0xffff) * SECTION_HEADER_LENGTH;
    final int nameTable = Math.toIntExact(data.getLong(names + 24));
    for (int i = 0; i < count; i++) {
      final int header = table + i * SECTION_HEADER_LENGTH;
      sections.add(
          new Section(
              string(nameTable + data.getInt(header)),
              data.getInt(header + 4),
              Math.toIntExact(data.getLong(header + 24)),
              Math.toIntExact(data.getLong(header + 32)),
              data.getInt(header + 40)));
    }
    for (final Section section : sections) {
      if (section.type == TYPE_SYMBOLS) {
        readSymbols(section);
      }
    }
  }

  private void readSymbols(Section table) {
    final int names = sections.get(table.link).offset;
    for (int at = table.offset; at < table.offset + table.size; at += SYMBOL_LENGTH) {
      final int index = data.getShort(at + 6) & 0xffff;
      symbols.add(
          new Symbol(
              string(names + data.getInt(at)),
              index > 0 && index < sections.size() ? sections.get(index).name : "",
              data.getLong(at + 8),
              data.getLong(at + 16)));
    }
  }

  private String string(int start) {
    int end = start;
    while (data.get(end) != 0) {
      end++;
    }
    return new String(data.array(), start, end - start, StandardCharsets.UTF_8);
  }

  public boolean hasSection(String name) {
    return sections.stream().anyMatch(section -> section.name.equals(name));
  }

  /**
   * Returns the bytes of a section.
   *
   * @throws BtfException if the object has no section of that name
   */
  public byte[] section(String name) {
    final Section found =
        sections.stream()
            .filter(section -> section.name.equals(name))
            .findFirst()
            .orElseThrow(() -> new BtfException("ELF object: no section " + name));
    if (found.type == TYPE_NO_BITS) {
      checkSize(found, MOST_ZEROS);
      return new byte[found.size];
    }
    checkSize(found, data.capacity() - (long) found.offset);
    final byte[] bytes = new byte[found.size];
    data.get(found.offset, bytes);
    return bytes;
  }

  /** Nothing is allocated before it is certain that the object has so many bytes. */
  private static void checkSize(Section section, long most) {
    if (section.offset < 0 || section.size < 0 || section.size > most) {
      throw new BtfException("ELF object: section " + section.name + " exceeds the file");
    }
  }

  /** Returns the symbol of that name in that section. */
  public Optional<Symbol> symbol(String section, String name) {
    return symbols.stream()
        .filter(symbol -> symbol.section().equals(section) && symbol.name().equals(name))
        .findFirst();
  }
}
