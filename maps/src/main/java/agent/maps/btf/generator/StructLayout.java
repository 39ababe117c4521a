package agent.maps.btf.generator;

import agent.maps.btf.Btf;
import agent.maps.btf.BtfException;
import agent.maps.btf.BtfType;
import agent.maps.btf.BtfType.Array;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.Int;
import agent.maps.btf.BtfType.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The members of a struct with their places.
 *
 * @param name in C
 * @param length in bytes
 */
record StructLayout(String name, int length, List<Field> fields) {
  private static final Map<String, Field.Number> NUMBERS =
      Map.of(
          "__u8", new Field.Number(1, false),
          "__u16", new Field.Number(2, false),
          "__u32", new Field.Number(4, false),
          "__u64", new Field.Number(8, false),
          "__be16", new Field.Number(2, true),
          "__be32", new Field.Number(4, true),
          "__be64", new Field.Number(8, true));

  private static final Pattern RESERVED = Pattern.compile("(.*_)?(reserved\\d*|spare)");
  private static final Pattern FLAG = Pattern.compile("(.*_)?(has|is)_.*");
  private static final int MAC_LENGTH = 6;
  private static final int IPV4_LENGTH = 4;
  private static final int IPV6_LENGTH = 16;

  StructLayout {
    fields = List.copyOf(fields);
  }

  /**
   * Reads a struct.
   *
   * @throws BtfException if BTF does not have it, or if Java has no form for one of its members
   */
  static StructLayout of(Btf btf, String name) {
    final Composite composite =
        btf.find(Composite.class, name)
            .filter(type -> !type.union())
            .orElseThrow(() -> new BtfException("struct " + name + ": not in BTF"));
    return new Reader(btf, name).read(composite);
  }

  private static final class Reader {
    private final Btf btf;
    private final String struct;
    private final List<Field> fields = new ArrayList<>();

    Reader(Btf btf, String struct) {
      this.btf = btf;
      this.struct = struct;
    }

    StructLayout read(Composite composite) {
      add(composite, "", 0);
      return new StructLayout(struct, composite.size(), fields);
    }

    private void add(Composite composite, String prefix, int bitOffset) {
      for (final Member member : composite.members()) {
        final int at = bitOffset + member.bitOffset();
        final String name = prefix + member.name();
        if (btf.resolve(member.type()) instanceof final Composite inner && inner.name().isEmpty()) {
          add(inner, member.name().isEmpty() ? prefix : name + '_', at);
        } else {
          fields.add(field(member, name, at));
        }
      }
    }

    private Field field(Member member, String name, int bitOffset) {
      if (member.bitWidth() > 0) {
        return bits(member, name, bitOffset);
      }
      int type = member.type();
      int count = 0;
      if (btf.resolve(type) instanceof final Array array) {
        type = array.elementType();
        count = array.count();
        if (count == 0) {
          throw refused(name, "an array without a length");
        }
      }
      final String declaration = declaration(type);
      final int offset = bitOffset / Byte.SIZE;
      return new Field(name, declaration, offset, count, kind(name, type, declaration, count));
    }

    private String declaration(int type) {
      final String name = btf.declaredName(type);
      return switch (btf.resolve(type)) {
        case Composite composite when composite.name().equals(name) ->
            (composite.union() ? "union " : "struct ") + name;
        case BtfType.Enumeration enumeration when enumeration.name().equals(name) -> "enum " + name;
        default -> name;
      };
    }

    private Field.Kind kind(String name, int type, String declaration, int count) {
      if (RESERVED.matcher(name).matches()) {
        return new Field.Reserved();
      }
      if (btf.resolve(type) instanceof final Composite nested) {
        return nested(name, nested, count);
      }
      final Field.Number number = number(name, type, declaration);
      if (number.bytes() > 1) {
        return number;
      }
      return switch (count) {
        case 0 -> FLAG.matcher(name).matches() ? new Field.Flag() : number;
        case IPV4_LENGTH -> new Field.Ipv4();
        case MAC_LENGTH -> new Field.Mac();
        case IPV6_LENGTH -> new Field.Ipv6();
        default -> number;
      };
    }

    private Field.Nested nested(String name, Composite nested, int count) {
      if (nested.union()) {
        throw refused(name, "a union with a name; one without has its members in this struct");
      }
      if (count > 0) {
        throw refused(name, "an array of structs");
      }
      return new Field.Nested(nested.name());
    }

    private Field.Number number(String name, int type, String declaration) {
      final Field.Number number = NUMBERS.get(declaration);
      if (number == null) {
        throw refused(name, "of type " + (declaration.isEmpty() ? btf.resolve(type) : declaration));
      }
      if (!(btf.resolve(type) instanceof final Int integer)
          || integer.size() != number.bytes()
          || integer.bits() != number.bytes() * Byte.SIZE
          || integer.signed()) {
        throw refused(name, declaration + " that is " + btf.resolve(type));
      }
      if (JavaNames.namesByteOrder(name) && !number.isBigEndian()) {
        throw refused(name, declaration + ", while its name says big endian");
      }
      return number;
    }

    private Field bits(Member member, String name, int bitOffset) {
      final String declaration = declaration(member.type());
      final int word = bitOffset / Integer.SIZE * Integer.SIZE;
      if (!"__u32".equals(declaration)) {
        throw refused(name, "a bit field of " + declaration + " and not of __u32");
      }
      if (bitOffset + member.bitWidth() > word + Integer.SIZE) {
        throw refused(name, "a bit field over the end of a word");
      }
      final Field.Kind kind =
          RESERVED.matcher(name).matches()
              ? new Field.Reserved()
              : new Field.Bits(bitOffset - word, member.bitWidth());
      return new Field(name, declaration, word / Byte.SIZE, 0, kind);
    }

    private BtfException refused(String member, String what) {
      return new BtfException("struct %s: member %s: %s".formatted(struct, member, what));
    }
  }
}
