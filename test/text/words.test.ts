import { describe, expect, it } from 'vitest';
import { countWords, cutWords, splitWords } from '../../lib/text/words.js';

describe('splitWords', () => {
  it.each([
    [
      'keeps letters and digits, lower-cased',
      'Spider-Man 2: (2004), e.g.',
      'spider man 2 2004 e g',
    ],
    ['folds accents and compatibility forms', 'Amélie ＡＢＣ Škoda Ύδρα', 'amelie abc skoda υδρα'],
    ['drops lone marks and invisible characters', '1️⃣ infor\u00admation', '1 information'],
    [
      'folds letters as ASCIIFolding',
      'Łódź Tromsø Ærø Đà Þór œuvre Əliyev Ŋanga Ɓarna Ɗan Ƙasa Ɛdɔ',
      'lodz tromso aero da thor oeuvre aliyev nanga barna dan kasa edo',
    ],
    ['folds ё, but not й', 'Ёлка Йод', 'елка йод'],
    ['folds Persian letters to the Arabic ones', 'کتابی', 'كتابي'],
    ['folds Arabic letters written for each other', 'مدرسة على', 'مدرسه علي'],
    ['folds Persian and Urdu heh, but no vowel', 'خانۀ خانهٔ ہم تۆپەکە', 'خانه خانه هم تۆپەكە'],
    ['folds the nasals of Hindi', 'हिन्दी हिंदी चाँद पम्प अङ्क', 'हिंदी हिंदी चांद पंप अंक'],
    ['keeps nasals before other sounds', 'न्याय जन्म अन्य', 'न्याय जन्म अन्य'],
    ["drops the dot of Hindi's loanwords", 'फ़िल्म \u095eिल्म', 'फिल्म फिल्म'],
    ['reads the digits of every script', '٢٠٢٤ ۱۹۷۹ १९४७ 𝟗 ᭙', '2024 1979 1947 9 9'],
    ['drops modifier apostrophes', 'Hawaiʻi Qurʾan', 'hawaii quran'],
    ['drops every inner apostrophe', "O‘zbek o'zbek צ׳רצ׳יל צ'רצ'יל", 'ozbek ozbek צרציל צרציל'],
    ['drops the possessive', "Nolan's O'Brien d’Arc Joneses' 's", 'nolan obrien darc joneses s'],
    ['splits Han and Hiragana', 'iPhone手机 東京タワーは', 'iphone 手 机 東 京 タワー は'],
    [
      'splits words where Katakana begins or ends',
      'Tokyo2020オリンピック開会 らーめんｱﾆﾒ',
      'tokyo2020 オリンピック 開 会 ら ー め ん アニメ',
    ],
    ['treats emoji as words', '🎬 😀2 👨‍👩', '🎬 😀 2 👨 👩'],
    ['splits Thai with a dictionary', 'เมืองหลวง', 'เมือง หลวง'],
    ['splits words with am in Thai and Lao', 'คำตอบน้ำตก ຄຳຕອບ', 'คำ ตอบ น้ำตก ຄຳ ຕອບ'],
    ['keeps letters of other scripts together', 'Москва 서울특별시', 'москва 서울특별시'],
    ['keeps vowel signs and voicing', 'दिन दान バス ハス Мой', 'दिन दान バス ハス мой'],
    ['drops optional vowel points and strokes', 'كِتَاب كتـــاب שָׁלוֹם', 'كتاب كتاب שלום'],
    ['lower-cases every alphabet', 'Iğdır IĞDIR Maß MASS MAẞ', 'igdir igdir mass mass mass'],
    ['ignores direction marks', 'a\u200eb שלום\u200f', 'ab שלום'],
    ['gives no words without letters', ' ?! ', ''],
  ])('%s', (_, text, words) => expect(splitWords(text).join(' ')).toBe(words));
});

describe('cutWords', () => {
  it.each([
    ['at spaces', ' a, b  c\nd ', 3, 'a, b c'],
    ['between characters of a script without spaces', '白帆港，最大的渔港', 5, '白帆港，最大'],
    ['between Tibetan syllables', 'བོད་ཡིག་གི་སྐད', 2, 'བོད་ཡིག་'],
    ['in mixed texts', 'The 青石镇 town', 3, 'The 青石'],
    ['nothing off a shorter text', 'one two', 5, 'one two'],
  ])('cuts %s', (_, text, words, cut) => expect(cutWords(text, words)).toBe(cut));

  it('keeps as many words as countWords counts', () => {
    const text = 'Oslo 是挪威的首都。 เมืองหลวง of Norway.';
    for (let n = 1; n <= countWords(text); n++) expect(countWords(cutWords(text, n))).toBe(n);
  });
});
