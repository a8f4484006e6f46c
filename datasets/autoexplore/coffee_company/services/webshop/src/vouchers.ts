/**
 * Voucher codes. A code is QUAY-, six characters and a check character, for example QUAY-7KX4MPV.
 * Letters that look alike on a printed card (I, O, 0, 1, L) are left out.
 */

const ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";

export interface Voucher {
  code: string;
  kind: "amount" | "percent";
  /** Pence or whole per cent. */
  value: number;
  minimumPence: number;
  validFrom: string;
  validTo: string;
  usesLeft: number;
  /** Gift vouchers may pay for everything; campaign vouchers not for courses or subscriptions. */
  campaign: boolean;
}

export interface BasketLine {
  sku: string;
  pence: number;
}

export type Refusal = "malformed" | "unknown" | "not yet" | "expired" | "used up" | "below minimum" | "nothing fits";

/** Weighted sum modulo 31; catches one wrong character and every swap of two neighbours. */
export function checkCharacter(six: string): string {
  let sum = 0;
  for (const [place, letter] of [...six].entries()) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) return "";
    sum += value * (place + 2);
  }
  return ALPHABET.charAt(sum % ALPHABET.length);
}

/** People type blanks, small letters and forget the hyphen. */
export function normalise(typed: string): string | undefined {
  const bare = typed.toUpperCase().replace(/[\s-]/g, "");
  const match = /^QUAY([2-9A-Z]{6})([2-9A-Z])$/.exec(bare);
  if (!match) return undefined;
  const [, six = "", check = ""] = match;
  return checkCharacter(six) === check ? `QUAY-${six}${check}` : undefined;
}

export function redeem(
  typed: string,
  basket: readonly BasketLine[],
  today: string,
  find: (code: string) => Voucher | undefined,
): { off: number } | { refusal: Refusal } {
  const code = normalise(typed);
  if (code === undefined) return { refusal: "malformed" };
  const voucher = find(code);
  if (voucher === undefined) return { refusal: "unknown" };
  if (today < voucher.validFrom) return { refusal: "not yet" };
  if (today > voucher.validTo) return { refusal: "expired" };
  if (voucher.usesLeft < 1) return { refusal: "used up" };

  // Subscriptions are already reduced, so a campaign does not apply to them either.
  const fits = basket.filter((l) => !voucher.campaign || !/^(SC|SB)-/.test(l.sku));
  const sum = fits.reduce((total, l) => total + l.pence, 0);
  if (sum === 0) return { refusal: "nothing fits" };
  if (sum < voucher.minimumPence) return { refusal: "below minimum" };

  const off = voucher.kind === "amount" ? voucher.value : Math.floor((sum * voucher.value) / 100);
  // What is left of an amount is lost for campaigns; for gift vouchers the caller writes it back.
  return { off: Math.min(off, sum) };
}
