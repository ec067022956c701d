/* tare/variant/c.h: values in GVariant's encoding for C, with the names and rules of GLib's g_variant_*.
 *
 *   tare_variant_builder settings;
 *   tare_variant_builder_init(&settings, "a{sv}");
 *   tare_variant_builder_add(&settings, "{sv}", "width", tare_variant_new_uint32(640));
 *   tare_variant_builder_add_parsed(&settings, "{'title', <%s>}", "Tare");
 *   tare_variant* value = tare_variant_builder_end(&settings);      // one block: header, bytes, type
 *   send(tare_variant_get_data(value), tare_variant_get_size(value));
 *   tare_variant_unref(value);
 *
 * What is different from GLib: a builder writes a value's bytes at once, as calls come, into a buffer that its thread
 * keeps for the next one. There is no tree, no table of types and no lock. A value is one block of memory; one that was
 * taken out of another refers to that one's bytes. Types are C strings, and have to be definite ones, without * ? r.
 *
 * Ownership, as in GLib: what tare_variant_new...() and tare_variant_builder_end() return is floating. The first
 * tare_variant_ref_sink() makes it the caller's; a function that takes a value into another one (marked "sinks" below)
 * does that and gives it up, so that tare_variant_new_...() can stand in an argument (as in GLib, arguments after one
 * that is refused aren't read: a floating value among them stays the caller's). A value that isn't floating
 * stays the caller's. Whatever other functions return isn't floating and ends with tare_variant_unref().
 *
 * Bytes are in this machine's order. Those that come from others, by tare_variant_new_from_data(), may be anything:
 * what is broken in them reads as its type's default, as tare/variant/view.h says.
 *
 * Errors: a null pointer, or false. A text that isn't UTF-8, a path or signature that isn't one, a type that doesn't
 * fit its place, a missing member, more than 128 levels in one builder, no memory. What a failed call would have added
 * isn't there, the rest stays; tare_variant_builder_error() says why. Functions that read give a type's zero where the
 * value has another type. Format strings must be valid and fit their arguments: see below.
 *
 * A value may be used by any threads at once, a builder, iterator or dictionary by one at a time. C11 and C++; link
 * libtare.
 *
 * Format strings (GLib's "GVariant Format Strings"):
 *   b y n q i u x t h d   a number; b and all up to 4 bytes come as int or unsigned, and go to an object of their type:
 *                         b to an int, y to uint8_t, n int16_t, q uint16_t, i and h int32_t, u uint32_t, x int64_t, ...
 *   s o g                 const char*; read: a copy for free(), with & the text inside the value
 *   v                     tare_variant*, in a variant; read: what is inside, a new reference
 *   @TYPE * ? r           tare_variant* of TYPE, of any, any basic, any tuple type; read: a new reference
 *   aTYPE                 tare_variant_builder*, which ends; or null for an empty array;
 *                         read: tare_variant_iter*, for tare_variant_iter_free()
 *   ^as ^ao ^aay          char**, ended by a null, a copy of which is made; read: for free(), one by one
 *   ^a&s ^a&o ^a&ay       the same; read: the list alone is for free()
 *   ^ay ^&ay              a text with its zero as bytes; read: a copy for free(), or the text inside
 *   mFORMAT               null, or what FORMAT wants, where that is a pointer;
 *                         else an int, 0 for Nothing, before what FORMAT wants
 *   ( ) { }               members one after another
 *
 * When reading, null may stand for what isn't wanted.
 *
 * From GLib's GVariant and GVariantBuilder, and seed 003, whose wish it was: the same API, written to one buffer.
 */
#ifndef TARE_VARIANT_C_H_
#define TARE_VARIANT_C_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tare/internal/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_variant tare_variant;
typedef struct tare_variant_builder tare_variant_builder;
typedef struct tare_variant_iter tare_variant_iter;

/* ---- values: floating, or null */

TARE_API tare_variant* tare_variant_new_boolean(bool value);
TARE_API tare_variant* tare_variant_new_byte(uint8_t value);
TARE_API tare_variant* tare_variant_new_int16(int16_t value);
TARE_API tare_variant* tare_variant_new_uint16(uint16_t value);
TARE_API tare_variant* tare_variant_new_int32(int32_t value);
TARE_API tare_variant* tare_variant_new_uint32(uint32_t value);
TARE_API tare_variant* tare_variant_new_int64(int64_t value);
TARE_API tare_variant* tare_variant_new_uint64(uint64_t value);
TARE_API tare_variant* tare_variant_new_handle(int32_t value);
TARE_API tare_variant* tare_variant_new_double(double value);
TARE_API tare_variant* tare_variant_new_string(const char* text);
TARE_API tare_variant* tare_variant_new_object_path(const char* text);
TARE_API tare_variant* tare_variant_new_signature(const char* text);
TARE_API tare_variant* tare_variant_new_bytestring(const char* text);
/* An array of texts; `count` < 0: up to a null. */
TARE_API tare_variant* tare_variant_new_strv(const char* const* texts, ptrdiff_t count);
/* An array of `count` elements of `element_type`, a fixed-size one, each `element_bytes` long. Copied. */
TARE_API tare_variant* tare_variant_new_fixed_array(const char* element_type, const void* elements, size_t count,
                                                    size_t element_bytes);
/* Sinks `value`: a variant that holds it. */
TARE_API tare_variant* tare_variant_new_variant(tare_variant* value);
/* Sinks `children`, all of them. A null `value` is Nothing; types may be null where there's a child. */
TARE_API tare_variant* tare_variant_new_maybe(const char* child_type, tare_variant* value);
TARE_API tare_variant* tare_variant_new_array(const char* child_type, tare_variant* const* children, size_t count);
TARE_API tare_variant* tare_variant_new_tuple(tare_variant* const* children, size_t count);
TARE_API tare_variant* tare_variant_new_dict_entry(tare_variant* key, tare_variant* value);
/* A copy of `bytes` bytes of anybody's as a value of `type`. */
TARE_API tare_variant* tare_variant_new_from_data(const char* type, const void* data, size_t bytes);

/* By a format string. Sinks its values, ends its builders. */
TARE_API tare_variant* tare_variant_new(const char* format, ...);
/* By the format at the beginning of `format`; *end, unless null, is set to what follows, else nothing may follow. */
TARE_API tare_variant* tare_variant_new_va(const char* format, const char** end, va_list* arguments);
/* From text (tare/variant/text.h), in which %FORMAT stands for a value of the next arguments: "[%i, 2, 3]". */
TARE_API tare_variant* tare_variant_new_parsed(const char* text, ...);
TARE_API tare_variant* tare_variant_new_parsed_va(const char* text, va_list* arguments);
/* From text alone, of `type` unless null. Not floating. Null where it isn't a value; then *message, unless null, is
 * set to why and where, for free(). */
TARE_API tare_variant* tare_variant_parse(const char* type, const char* text, char** message);

TARE_API tare_variant* tare_variant_ref(tare_variant* value);
TARE_API tare_variant* tare_variant_ref_sink(tare_variant* value);
TARE_API tare_variant* tare_variant_take_ref(tare_variant* value); /* sinks, never adds a reference */
TARE_API bool tare_variant_is_floating(const tare_variant* value);
TARE_API void tare_variant_unref(tare_variant* value); /* null is nothing */

/* ---- the whole value */

TARE_API const char* tare_variant_get_type_string(const tare_variant* value);
/* Whether its type is one that `type`, which may have * ? r, stands for. */
TARE_API bool tare_variant_is_of_type(const tare_variant* value, const char* type);
TARE_API size_t tare_variant_get_size(const tare_variant* value);
/* At a multiple of 8 where the type wants that. Valid as long as the value. Null for 0 bytes. */
TARE_API const void* tare_variant_get_data(const tare_variant* value);
TARE_API bool tare_variant_is_normal_form(const tare_variant* value);
TARE_API tare_variant* tare_variant_get_normal_form(tare_variant* value);
/* Its bytes in the other order of bytes: what such a machine sent, or can read. */
TARE_API tare_variant* tare_variant_byteswap(const tare_variant* value);
TARE_API bool tare_variant_equal(const tare_variant* a, const tare_variant* b);
TARE_API int tare_variant_compare(const tare_variant* a, const tare_variant* b); /* a total order, see view.h */
TARE_API uint64_t tare_variant_hash(const tare_variant* value);
enum tare_variant_annotations { TARE_VARIANT_OMIT_TYPES, TARE_VARIANT_PRINT_TYPES };
TARE_API char* tare_variant_print(const tare_variant* value, enum tare_variant_annotations types); /* for free() */

/* ---- reading */

TARE_API bool tare_variant_get_boolean(const tare_variant* value);
TARE_API uint8_t tare_variant_get_byte(const tare_variant* value);
TARE_API int16_t tare_variant_get_int16(const tare_variant* value);
TARE_API uint16_t tare_variant_get_uint16(const tare_variant* value);
TARE_API int32_t tare_variant_get_int32(const tare_variant* value);
TARE_API uint32_t tare_variant_get_uint32(const tare_variant* value);
TARE_API int64_t tare_variant_get_int64(const tare_variant* value);
TARE_API uint64_t tare_variant_get_uint64(const tare_variant* value);
TARE_API int32_t tare_variant_get_handle(const tare_variant* value);
TARE_API double tare_variant_get_double(const tare_variant* value);
/* Of s, o and g: inside the value. *length, unless null, is set. */
TARE_API const char* tare_variant_get_string(const tare_variant* value, size_t* length);
/* The elements of an array of fixed-size ones, inside the value; null if it isn't one, or elements are larger or
 * smaller. */
TARE_API const void* tare_variant_get_fixed_array(const tare_variant* value, size_t* count, size_t element_bytes);
TARE_API size_t tare_variant_n_children(const tare_variant* value);
/* Null if there's no such child. */
TARE_API tare_variant* tare_variant_get_child_value(tare_variant* value, size_t index);
TARE_API tare_variant* tare_variant_get_variant(tare_variant* value); /* what a variant holds */
TARE_API tare_variant* tare_variant_get_maybe(tare_variant* value);   /* null for Nothing */
/* Of a dictionary a{s*} or a{o*}: the value with this key, out of its variant, if it is of `type` (null: of any). */
TARE_API tare_variant* tare_variant_lookup_value(tare_variant* dictionary, const char* key, const char* type);

/* By a format string; false, and nothing is set, where the value's type isn't the format's. */
TARE_API bool tare_variant_get(tare_variant* value, const char* format, ...);
TARE_API bool tare_variant_get_va(tare_variant* value, const char* format, const char** end, va_list* arguments);
TARE_API bool tare_variant_get_child(tare_variant* value, size_t index, const char* format, ...);
/* False where the dictionary has no such key, or a value of another type than the format's. */
TARE_API bool tare_variant_lookup(tare_variant* dictionary, const char* key, const char* format, ...);

/* ---- builders */

/* On the stack or in another object: nothing in here is for others. May be moved, not copied. */
struct tare_variant_builder {
  void* private_[4];
};

/* A value of `type`, a container. false without memory or for another type; then every other call fails, too. */
TARE_API bool tare_variant_builder_init(tare_variant_builder* builder, const char* type);
/* The same without a copy of `type`, which must live until the end. */
TARE_API bool tare_variant_builder_init_static(tare_variant_builder* builder, const char* type);
/* On the heap, with one reference. */
TARE_API tare_variant_builder* tare_variant_builder_new(const char* type);
TARE_API tare_variant_builder* tare_variant_builder_ref(tare_variant_builder* builder);
TARE_API void tare_variant_builder_unref(tare_variant_builder* builder);

/* A container as the next child, until close(); of a type that fits there. */
TARE_API bool tare_variant_builder_open(tare_variant_builder* builder, const char* type);
TARE_API bool tare_variant_builder_close(tare_variant_builder* builder);
/* Sinks `value`, also when it fails. */
TARE_API bool tare_variant_builder_add_value(tare_variant_builder* builder, tare_variant* value);
TARE_API bool tare_variant_builder_add(tare_variant_builder* builder, const char* format, ...);
TARE_API bool tare_variant_builder_add_va(tare_variant_builder* builder, const char* format, va_list* arguments);
TARE_API bool tare_variant_builder_add_parsed(tare_variant_builder* builder, const char* text, ...);
/* The value, floating; the builder is cleared. Null if it isn't complete: then the builder stays as it was. */
TARE_API tare_variant* tare_variant_builder_end(tare_variant_builder* builder);
/* Throws away what was added. Needed where end() isn't reached; does no harm elsewhere. */
TARE_API void tare_variant_builder_clear(tare_variant_builder* builder);
/* Why a call failed last: "a text isn't UTF-8, or has a zero inside". */
TARE_API const char* tare_variant_builder_error(const tare_variant_builder* builder);

/* ---- iterators: children one after another */

struct tare_variant_iter {
  void* private_[24];
};

/* Keeps no reference: `value` must live on. Returns how many children there are. */
TARE_API size_t tare_variant_iter_init(tare_variant_iter* iter, tare_variant* value);
/* On the heap, with a reference. Null without memory. */
TARE_API tare_variant_iter* tare_variant_iter_new(tare_variant* value);
/* Another one at the same place, on the heap; of any iterator. Loops (below) begin anew with it. */
TARE_API tare_variant_iter* tare_variant_iter_copy(const tare_variant_iter* iter);
TARE_API void tare_variant_iter_free(tare_variant_iter* iter); /* of one on the heap; null is nothing */
TARE_API size_t tare_variant_iter_n_children(const tare_variant_iter* iter);
TARE_API tare_variant* tare_variant_iter_next_value(tare_variant_iter* iter); /* null at the end */
/* By a format string; false at the end, and for children of another type. */
TARE_API bool tare_variant_iter_next(tare_variant_iter* iter, const char* format, ...);
/* The same for loops that keep nothing: each call frees what the one before it has set, and the last, which returns
 * false, leaves nulls and zeros:
 *   char* key;
 *   tare_variant* inside;
 *   while (tare_variant_iter_loop(&iter, "{sv}", &key, &inside)) print(key, inside);
 * Who leaves the loop by `break` frees what is set then. The first call sets whatever was there; the others get the
 * very same `format`, a pointer to the same text, and the same variables, or return false and set nothing. */
TARE_API bool tare_variant_iter_loop(tare_variant_iter* iter, const char* format, ...);

/* ---- dictionaries a{sv} that change */

typedef struct tare_variant_dict {
  void* private_[4];
} tare_variant_dict;

/* With the entries of `from`, an a{sv}, unless null. false without memory or for another type. */
TARE_API bool tare_variant_dict_init(tare_variant_dict* dict, tare_variant* from);
/* On the heap, with one reference. Null without memory or for another type. */
TARE_API tare_variant_dict* tare_variant_dict_new(tare_variant* from);
TARE_API tare_variant_dict* tare_variant_dict_ref(tare_variant_dict* dict);
TARE_API void tare_variant_dict_unref(tare_variant_dict* dict); /* the last one clears it; null is nothing */
TARE_API bool tare_variant_dict_contains(const tare_variant_dict* dict, const char* key);
TARE_API tare_variant* tare_variant_dict_lookup_value(const tare_variant_dict* dict, const char* key, const char* type);
TARE_API bool tare_variant_dict_lookup(const tare_variant_dict* dict, const char* key, const char* format, ...);
/* Replaces what has this key. */
TARE_API bool tare_variant_dict_insert(tare_variant_dict* dict, const char* key, const char* format, ...);
TARE_API bool tare_variant_dict_insert_value(tare_variant_dict* dict, const char* key, tare_variant* value);
TARE_API bool tare_variant_dict_remove(tare_variant_dict* dict, const char* key);
/* The a{sv}, floating, in the order of insertion; the dictionary is cleared: one on the heap wants its unref() only. */
TARE_API tare_variant* tare_variant_dict_end(tare_variant_dict* dict);
TARE_API void tare_variant_dict_clear(tare_variant_dict* dict);

#ifdef __cplusplus
}
#endif

#endif /* TARE_VARIANT_C_H_ */
