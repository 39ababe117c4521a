package agent.maps.layout;

import java.util.ArrayList;
import java.util.List;

/**
 * What Java believes of a C struct: held against BTF by {@code LayoutCheck}.
 *
 * @param name of the C struct
 * @param length in bytes
 * @param members in the order of their offsets
 */
public record StructSpec(String name, int length, List<Member> members) {
  public StructSpec {
    members = List.copyOf(members);
  }

  /** Integer types of the kernel's headers; the name of the typedef carries the byte order. */
  public enum Scalar {
    U8("__u8", 1),
    U16("__u16", 2),
    U32("__u32", 4),
    U64("__u64", 8),
    BE16("__be16", 2),
    BE32("__be32", 4);

    private final String typedef;
    private final int length;

    Scalar(String typedef, int length) {
      this.typedef = typedef;
      this.length = length;
    }

    public String typedef() {
      return typedef;
    }

    public int length() {
      return length;
    }
  }

  /**
   * One member.
   *
   * @param name in C
   * @param bitOffset from the start of the struct
   * @param bitWidth of a bit field; 0: not a bit field
   * @param scalar the element's type, or null for a nested struct
   * @param struct the element's type, or null for a scalar
   * @param count of elements; 0: not an array
   */
  public record Member(
      String name, int bitOffset, int bitWidth, Scalar scalar, StructSpec struct, int count) {}

  public static Builder named(String name, int length) {
    return new Builder(name, length);
  }

  /** Collects members; offsets are in bytes. */
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

    /** An array of {@code __u8}. */
    public Builder bytes(String member, int offset, int count) {
      return scalars(member, offset, Scalar.U8, count);
    }

    public Builder bits(String member, int bitOffset, int bitWidth, Scalar scalar) {
      return add(new Member(member, bitOffset, bitWidth, scalar, null, 0));
    }

    public Builder struct(String member, int offset, StructSpec struct) {
      return add(new Member(member, offset * Byte.SIZE, 0, null, struct, 0));
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
