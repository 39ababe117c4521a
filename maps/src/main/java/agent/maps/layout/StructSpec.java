package agent.maps.layout;

import java.util.ArrayList;
import java.util.List;

/**
 * The members of a C struct as Java declares them; {@code LayoutCheck} compares them with the BTF
 * of the objects.
 *
 * @param name of the C struct
 * @param length in bytes
 * @param members in the order of their offsets
 */
public record StructSpec(String name, int length, List<Member> members) {
  public StructSpec {
    members = List.copyOf(members);
  }

  /** Integer types of the kernel's headers; the name of the typedef states the byte order. */
  public enum Scalar {
    U8,
    U16,
    U32,
    U64,
    BE16,
    BE32
  }

  /**
   * One member.
   *
   * @param name in C
   * @param bitOffset from the start of the struct
   * @param bitWidth of a bit field; 0 for other members
   * @param scalar the element's type, or null for a nested struct
   * @param struct the element's type, or null for a scalar
   * @param count of the elements of an array; 0 for other members
   */
  public record Member(
      String name, int bitOffset, int bitWidth, Scalar scalar, StructSpec struct, int count) {}

  public static Builder named(String name, int length) {
    return new Builder(name, length);
  }

  /** Collects the members of a specification; offsets are in bytes. */
  public static final class Builder {
    private final String name;
    private final int length;
    private final List<Member> members = new ArrayList<>();

    private Builder(String name, int length) {
      this.name = name;
      this.length = length;
    }

    public Builder scalar(String member, int offset, Scalar scalar) {
      return add(new Member(member, offset * Byte.SIZE, 0, scalar, null, 0));
    }

    public Builder scalars(String member, int offset, Scalar scalar, int count) {
      return add(new Member(member, offset * Byte.SIZE, 0, scalar, null, count));
    }

    /** Adds a bit field; its offset is in bits. */
    public Builder bits(String member, int bitOffset, Scalar scalar, int width) {
      return add(new Member(member, bitOffset, width, scalar, null, 0));
    }

    /** Adds an array of {@code __u8}. */
    public Builder bytes(String member, int offset, int count) {
      return scalars(member, offset, Scalar.U8, count);
    }

    public Builder structs(String member, int offset, StructSpec struct, int count) {
      return add(new Member(member, offset * Byte.SIZE, 0, null, struct, count));
    }

    public StructSpec build() {
      return new StructSpec(name, length, members);
    }

    private Builder add(Member member) {
      members.add(member);
      return this;
    }
  }
}
